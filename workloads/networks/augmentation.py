"""Random shifts and flips of images, computed on the CPU during training."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHIFT = 0.1  # of the side, at most


def augmented_batches(x: "NDArray[np.float32]", y: "NDArray[Any]", batch_size: int, seed: int) -> Any:
    """Return an endless PyDataset of whole batches, with a new order in each pass.

    One thread makes them ahead of the training: with one worker, Keras has TensorFlow run it and prefetch.
    """
    import numpy as np
    from keras.utils import PyDataset

    steps = len(x) // batch_size
    random = np.random.default_rng(seed)
    order = random.permutation(len(x))

    class Batches(PyDataset):  # type: ignore[misc] # Keras ships no types
        num_batches = None  # endless: an epoch may be cut anywhere

        def __getitem__(self, index: int) -> tuple[Any, Any]:
            place = index % steps
            if place == 0:
                random.shuffle(order)
            rows = order[place * batch_size : (place + 1) * batch_size]
            return shifted_and_flipped(x[rows], random), y[rows]

    batches = Batches(workers=1, use_multiprocessing=False, max_queue_size=10)
    batches.rows = x
    return batches


def shifted_and_flipped(images: "NDArray[np.float32]", random: "np.random.Generator") -> "NDArray[np.float32]":
    """Return each image shifted by up to a tenth of its sides, even by fractions of pixels, and maybe flipped."""
    for axis in (1, 2):
        side = images.shape[axis]
        images = shifted(images, random.uniform(-_SHIFT, _SHIFT, len(images)) * side, axis)
    flips = random.random(len(images)) < 0.5
    images[flips] = images[flips, :, ::-1]
    return images


def shifted(images: "NDArray[np.float32]", shifts_px: "NDArray[np.float64]", axis: int) -> "NDArray[np.float32]":
    """Shift each image along an axis, interpolating between pixels and repeating the border's."""
    import numpy as np

    last = images.shape[axis] - 1
    places = np.clip(np.arange(last + 1) + shifts_px[:, None], 0, last)
    below = np.minimum(places.astype(np.intp), last - 1)
    share = (places - below).astype(np.float32)

    def along(values: "NDArray[Any]") -> "NDArray[Any]":
        return np.expand_dims(values, tuple(other for other in (1, 2, 3) if other != axis))

    near = np.take_along_axis(images, along(below), axis)
    far = np.take_along_axis(images, along(below + 1), axis)
    moved: NDArray[np.float32] = near + along(share) * (far - near)
    return moved
