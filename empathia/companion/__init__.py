"""The responder people meet first: perceive, recall, plan, generate, choose, on a pretrained language model."""
