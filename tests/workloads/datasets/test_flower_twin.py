"""The generated pictures of the flower networks."""

from tests.archives import digest_of
from workloads.datasets import flower_twin

TWIN_SHA256 = "57fb15db99f1c035245a32803fa100335fad2a6a08590baf6835cd6c3db98798"
ARRAYS_SHA256 = "bc4210306249b792c21f1cbf74d7562f49a0adb505b638b54c221b0876560069"
STUDYS_SHA256 = "00618654bea2b3b2f79d91a7a2f32ac37f622c56fbe8b2d617db0ef5135f2de7"


def test_the_pictures_are_the_same_everywhere() -> None:
    twin = flower_twin.load(64)
    assert twin.checksum == TWIN_SHA256
    assert digest_of(twin.pictures, twin.which, twin.labels) == ARRAYS_SHA256
    assert flower_twin.load(331).checksum == STUDYS_SHA256
