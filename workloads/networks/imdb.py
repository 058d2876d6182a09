"""Networks that classify film reviews (IMDb) as positive or negative."""

from pathlib import Path
from typing import Any

from workloads.datasets import imdb
from workloads.networks.recurrent import Recurrent, lstm
from workloads.protocol import events
from workloads.protocol.messages import message
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.training.feed import Feed
from workloads.training.measured import OTHER_DATA, first_losses, measured_memory
from workloads.training.training import Training

_WORDS = 20_000


class _Imdb(Training):
    kind = "text"
    study = "000"
    source = "Keras examples as run by Max Woolf, 2017 (study 000)"
    epoch_text = message("epoch_text.reviews", training=25_000, validation=25_000)
    dataset = "imdb"
    batch_size = 32
    samples_per_epoch = 25_000
    validation_samples = 25_000
    # Chance level is ln 2 = 0.69.
    loss_band = (0.0, 0.72)
    length: int  # of a review in words

    def compile_options(self, spec: RunSpec) -> dict[str, Any]:
        from keras import optimizers

        return {"optimizer": optimizers.Adam(0.001), "loss": "binary_crossentropy", "metrics": ["accuracy"]}

    def reviews(self, file: Path | None) -> imdb.Reviews:
        return imdb.load(file, words=_WORDS)

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        """Return reviews of equal length. All test reviews are used for validation after each epoch."""
        reviews = self.reviews(file)
        return Feed(
            x=imdb.padded(reviews.train_ids, reviews.train_offsets, self.length),
            y=reviews.train_labels,
            validation=(imdb.padded(reviews.test_ids, reviews.test_offsets, self.length), reviews.test_labels),
            samples=len(reviews.train_labels),
            validation_samples=len(reviews.test_labels),
            shape=(self.length,),
            source=reviews.source,
            checksum=reviews.checksum,
        )


class ImdbFastTextUnigram(_Imdb):
    """The mean of the word embeddings, followed by one dense unit."""

    id = "imdb_fasttext_unigram"
    epochs = 5
    parameters_count: int | None = 1_000_051
    length = 400
    vocabulary = _WORDS
    # Most of the work, looking up and updating tables, doesn't count as operations.
    operations_per_example = 300
    # Chance level is 0.69, and these steps barely change the loss.
    proof = first_losses(780, 0.639, 0.726, real=(0.3, 0.75, OTHER_DATA), unlearned=0.693)
    memory_needs = measured_memory(tensorflow=(930, 0), torch=(700, 0), jax=(580, 0))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps 400 word ids to one probability."""
        from keras import Sequential, layers

        return Sequential(
            [
                layers.Input((self.length,), dtype="int32"),
                layers.Embedding(self.vocabulary, 50),
                layers.GlobalAveragePooling1D(),
                layers.Dense(1, activation="sigmoid"),
            ]
        )


class ImdbFastText(ImdbFastTextUnigram):
    """The unigram network with an additional embedding for each pair of adjacent words.

    The number of pairs, and thus the size of the network, depends on the reviews.
    """

    id = "imdb_fasttext"
    parameters_count = None
    # Most of the work, looking up and updating tables, doesn't count as operations.
    operations_per_example = 300
    proof = first_losses(200, 0.658, 0.730, real=(0.3, 0.75, OTHER_DATA), unlearned=0.693)
    memory_needs = measured_memory(tensorflow=(2100, 0.22), torch=(1900, 0), jax=(1200, 0))

    def reviews(self, file: Path | None) -> imdb.Reviews:
        """Return the reviews with word pairs, and store the vocabulary size for `build`."""
        reviews = imdb.with_bigrams(super().reviews(file))
        self.vocabulary = reviews.vocabulary
        return reviews

    def run(self, job: Job, reporter: Reporter) -> None:
        super().run(job, reporter)
        reporter.send(events.Metric(key="vocabulary_words", value=self.vocabulary))


class ImdbBidirectionalLstm(Recurrent, _Imdb):
    """A bidirectional LSTM."""

    id = "imdb_bidirectional_lstm"
    epochs = 4
    parameters_count = 2_658_945
    length = 100
    operations_per_example = 58_983_168
    proof = first_losses(100, 0.658, 0.729, real=(0.3, 0.75, OTHER_DATA), unlearned=0.693)
    memory_needs = measured_memory(tensorflow=(840, 0.92), torch=(500, 0), jax=(600, 1))

    def build(self, spec: RunSpec) -> Any:
        """Return the model, which maps 100 word ids to one probability."""
        from keras import Sequential, layers

        return Sequential(
            [
                layers.Input((self.length,), dtype="int32"),
                layers.Embedding(_WORDS, 128),
                layers.Bidirectional(lstm(spec, 64)),
                layers.Dropout(0.5),
                layers.Dense(1, activation="sigmoid"),
            ]
        )
