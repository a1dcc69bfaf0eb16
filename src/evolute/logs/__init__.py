"""Logs for other tools: TensorBoard, CSV, Weights & Biases, MLflow. A log is a view of the journal, written as it grows."""
