"""Backends in Python: a class that computes answers, and its manifest, the decorator :func:`backend`.

A backend takes work in one of two ways. With ``execute(batch)`` the host forms batches and calls it on the thread of an
instance; every instance has an object of the class of its own. With ``issue(query)`` it takes whole queries as they are
issued, on a thread of its own, and completes them from any thread.
"""
