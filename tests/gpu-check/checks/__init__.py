"""Steps of gpu_check.py, a module for each section of the report."""
