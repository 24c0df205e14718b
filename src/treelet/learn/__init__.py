"""Learning with kernels: estimators in the style of scikit-learn, compressed models, and model files.

Names are listed in ``__init__.pyi`` and imported when they are first used. Estimators need
scikit-learn, and so does `treelet.load`, which returns an estimator. The commands ``predict``,
``evaluate`` and ``explain`` read models without scikit-learn.
"""

from treelet.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
