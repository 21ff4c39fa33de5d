"""A callback for the Trainer of Hugging Face's Transformers:

    from stallscope.huggingface import StallscopeCallback
    trainer = Trainer(..., callbacks=[StallscopeCallback("run", steps=40)])
"""

from __future__ import annotations

from transformers import TrainerCallback

from ._record import Recording, record


class StallscopeCallback(TrainerCallback):
    """Records the training loop with its loader, evaluation and checkpoints; arguments are those of `stallscope.record`.

    Where training ends with an error the trainer tells no callback: what was recorded up to then is in the folder, without
    torch.profiler's file.
    """

    def __init__(self, folder, steps: int | None = 40, **options):
        self._make = lambda: record(folder, steps, **options)
        self.recording: Recording | None = None
        self._phase = None

    def on_train_begin(self, args, state, control, **kwargs):
        self.recording = self._make().__enter__()

    def on_step_end(self, args, state, control, **kwargs):
        if self.recording is None:
            return
        self.recording.step()
        self._enter_next(control)

    def on_epoch_end(self, args, state, control, **kwargs):
        # With strategies that go by epochs the trainer decides here.
        if self.recording is not None and self._phase is None:
            self._enter_next(control)

    def on_evaluate(self, args, state, control, **kwargs):
        self._leave()
        if self.recording is not None and control.should_save:
            self._enter("checkpoint")

    def on_save(self, args, state, control, **kwargs):
        self._leave()

    def on_train_end(self, args, state, control, **kwargs):
        self._leave()
        recording, self.recording = self.recording, None
        if recording is not None:
            recording.__exit__(None, None, None)

    def _enter_next(self, control) -> None:
        if control.should_evaluate:
            self._enter("validate")
        elif control.should_save:
            self._enter("checkpoint")

    def _enter(self, name: str) -> None:
        self._leave()
        self._phase = self.recording.phase(name).__enter__()

    def _leave(self) -> None:
        phase, self._phase = self._phase, None
        if phase is not None:
            phase.__exit__(None, None, None)
