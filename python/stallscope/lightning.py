"""A callback for Lightning:

    from stallscope.lightning import StallscopeCallback
    trainer = Trainer(callbacks=[StallscopeCallback("run", steps=40)])
"""

from __future__ import annotations

import sys

from ._record import Recording, record

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    from lightning.pytorch import Callback


class StallscopeCallback(Callback):
    """Records the training loop with its loaders, validation and checkpoints; arguments are those of `stallscope.record`."""

    def __init__(self, folder, steps: int | None = 40, **options):
        super().__init__()
        self._make = lambda: record(folder, steps, **options)
        self.recording: Recording | None = None
        self._validation = None
        self._undo: list = []

    def on_fit_start(self, trainer, pl_module):
        strategy, prepare = trainer.strategy, trainer.strategy.process_dataloader

        def prepare_and_watch(loader):
            loader = prepare(loader)
            # The trainer makes the loader's workers before it says that training starts.
            if not trainer.sanity_checking and self.recording is None:
                self._begin(trainer)
            return loader

        strategy.process_dataloader = prepare_and_watch
        self._undo.append(lambda: delattr(strategy, "process_dataloader"))

    def _begin(self, trainer) -> None:
        self.recording = self._make().__enter__()
        save = trainer.save_checkpoint

        def save_in_phase(*args, **kwargs):
            with self.recording.phase("checkpoint"):
                return save(*args, **kwargs)

        trainer.save_checkpoint = save_in_phase
        self._undo.append(lambda: delattr(trainer, "save_checkpoint"))

    def on_train_batch_end(self, *_):
        if self.recording is not None:
            self.recording.step()

    def on_validation_start(self, trainer, pl_module):
        if self.recording is not None and not trainer.sanity_checking:
            self._validation = self.recording.phase("validate").__enter__()

    def on_validation_end(self, *_):
        validation, self._validation = self._validation, None
        if validation is not None:
            validation.__exit__(None, None, None)

    def on_train_end(self, *_):
        self._end(None)

    def on_exception(self, trainer, pl_module, exception):
        self._end(exception)

    def _end(self, exception) -> None:
        for undo in self._undo:
            undo()
        self._undo = []
        recording, self.recording = self.recording, None
        if recording is not None:
            recording.__exit__(type(exception) if exception is not None else None, exception, None)
