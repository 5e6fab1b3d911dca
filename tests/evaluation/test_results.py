"""The table that an evaluation prints."""

from aleator.evaluation import Evaluation


def test_an_evaluation_prints_as_a_table():
    result = Evaluation("probe", {"accuracy": (0.5, 0.7), "kappa": (0.1, 0.3)}, 2.0)
    assert str(result).splitlines() == [
        "probe, 2 seeds, 2.0 s",
        "  accuracy           0.600  ± 0.141  0.500  0.700",
        "  kappa              0.200  ± 0.141  0.100  0.300",
    ]
    chosen = Evaluation(
        "ridge",
        {"r2": (-0.5, 0.7), "rmse": (123.0, 4.0)},
        2.0,
        ({"penalty": 10.0}, {"penalty": 1.0}),
    )
    assert str(chosen).splitlines() == [
        "ridge, 2 seeds, 2.0 s",
        "  r2                  0.100   ± 0.849   -0.500  0.700",
        "  rmse               63.500  ± 84.146  123.000  4.000",
        "  penalty chosen                            10      1",
    ]
    single = Evaluation("ridge", {"r2": (0.5,)}, 2.0, ({"penalty": 0.01},))
    assert str(single).splitlines() == [
        "ridge, 1 seed, 2.0 s",
        "  r2                 0.500",
        "  penalty chosen      0.01",
    ]
    assert Evaluation("probe", {"accuracy": (0.5,)}, 2.0).std() == 0
