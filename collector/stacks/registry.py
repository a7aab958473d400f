"""Every adapter by the name that benchmark files use. A new stack is one file beside this one and one line here."""

from __future__ import annotations

from collector.stacks.command import CommandAdapter
from collector.stacks.deepspeed import DeepSpeedAdapter
from collector.stacks.imported import ImportedAdapter
from collector.stacks.interface import Adapter
from collector.stacks.llamacpp import LlamaCppAdapter
from collector.stacks.openai import OpenAIAdapter
from collector.stacks.tasks import TasksAdapter
from collector.stacks.torch import TorchAdapter
from collector.stacks.transformers import TransformersAdapter
from collector.stacks.vllm import VllmAdapter

ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (
        TorchAdapter(),
        DeepSpeedAdapter(),
        VllmAdapter(),
        LlamaCppAdapter(),
        TransformersAdapter(),
        OpenAIAdapter(),
        TasksAdapter(),
        CommandAdapter(),
        ImportedAdapter(),
    )
}
