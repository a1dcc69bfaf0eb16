"""Logs for other tools: TensorBoard, CSV, Weights & Biases, MLflow. A log is a view of the journal, written as it grows.

A sink is a plug-in: the module `logs/<name>.py` defines a function `<name>` (see `evolute.logs.sink.LogSink`).
"""
