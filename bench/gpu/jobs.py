"""Jobs as users write them, and what a rank of them is told where no agent tells it."""


def job(name: str, spec: dict) -> dict:
    return {"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob", "metadata": {"name": name}, "spec": spec}


def rank_config(job_of_it: dict, plan: dict, world_size: int = 1) -> dict:
    """It reports on its standard output and hears no commands."""
    return {"jobName": job_of_it["metadata"]["name"], "attempt": 1, "worldSize": world_size, "reportFd": -1, "commandFd": -1,
            "spec": job_of_it["spec"], "plan": plan}
