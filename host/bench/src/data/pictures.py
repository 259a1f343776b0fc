# Prepares JPEG files as the references do, for `host bench data`. It comes after worker.py and the steps of the references.
#
# The first argument is JSON, see pictures.rs: a pipeline, the size of its tensor, files, and a number of threads. Requests are
# `prepare`, and `check`, which writes the tensor of the first file.


class Pictures:
    """A share of the files, one after the other, as the reference's loaders take them."""

    def __init__(self, spec):
        # After the processors have been chosen, by which OpenCV counts its threads.
        cv2.setNumThreads(spec["threads"])
        self.spec, self.steps = spec, PIPELINES[spec["pipeline"]]
        self.version = cv2.__version__

    def answer(self, request):
        if request["do"] == "check":
            self.tensor(self.spec["files"][0]).tofile(os.path.join(self.spec["folder"], "tensor.bin"))
            return {}
        for path in self.spec["files"]:
            self.tensor(path)
        return {}

    def tensor(self, path):
        with open(path, "rb") as file:
            image = decoded(file.read())
        return np.ascontiguousarray(self.steps(image, self.spec["size"], self.spec["size"]).transpose(2, 0, 1))


serve(Pictures)
