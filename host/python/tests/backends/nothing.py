"""A backend that looks at nothing and answers nothing."""

import proctor


@proctor.backend(name="nothing", models="digits-*", formats="*")
class Nothing:
    def execute(self, batch):
        pass
