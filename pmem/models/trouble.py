"""A call of a provider's SDK, and its errors in plain words; both SDKs have the same shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pmem.models.protocol import ModelError, Trouble
from pmem.models.retry import with_retries

#: Characters kept of a provider's own words.
MAX_WORDS = 200


def call_sdk(
    call: Callable[[float], Any], seconds: float, sdk: Any, *, model: str, where: str, key: str
) -> Any:
    """What a call of an SDK returns, given the seconds that are left; asked again where that may
    help. Raises ModelError."""

    def told(left: float) -> Any:
        try:
            return call(left)
        except Exception as error:  # the SDK also raises what httpx and pydantic raise
            raise from_sdk(error, sdk, model=model, where=where, key=key) from error

    return with_retries(told, seconds)


def from_sdk(error: Exception, sdk: Any, *, model: str, where: str, key: str) -> ModelError:
    """The error of an SDK call. `where` names the endpoint, `key` the variable with the key."""
    if isinstance(error, sdk.APITimeoutError):
        return ModelError(Trouble.TIME, f"{model} did not answer in time")
    if isinstance(error, sdk.APIConnectionError):
        return ModelError(
            Trouble.NETWORK, f"cannot reach {where}: {_short(error.__cause__ or error)}"
        )
    if isinstance(error, sdk.APIStatusError):
        return from_status(
            error.status_code,
            _words(error),
            model=model,
            where=where,
            key=key,
            retry_after=_seconds(error.response.headers.get("retry-after")),
        )
    return ModelError(
        Trouble.REFUSED, f"{model} gave an answer that cannot be read: {_short(error)}"
    )


def from_status(
    status: int,
    words: str,
    *,
    model: str,
    where: str,
    key: str,
    retry_after: float | None = None,
) -> ModelError:
    """The error for an HTTP status and the provider's words."""
    told = f": {words}" if words else ""
    match status:
        case 401 | 403:
            return ModelError(
                Trouble.KEY,
                f"{where} refused the key ({status}){told}; set {key} to one that works",
            )
        case 402:
            return ModelError(Trouble.KEY, f"{where} wants to be paid (402){told}")
        case 404:
            return ModelError(
                Trouble.MODEL,
                f"{where} has no model {model!r}{told}; pmem config model PROVIDER:NAME sets it",
            )
        case 408 | 409 | 425 | 429:
            return ModelError(
                Trouble.BUSY, f"{where} asks to slow down ({status}){told}", retry_after=retry_after
            )
        case 400 | 422 if "temperature" in words.lower():
            return ModelError(Trouble.NO_TEMPERATURE, f"{where} takes no temperature{told}")
        case 400 | 422 if _is_about_tools(words):
            return ModelError(Trouble.NO_TOOLS, f"{where} takes no tools{told}")
        case 400 | 422 if "model" in words.lower() and "not" in words.lower():
            return ModelError(Trouble.MODEL, f"{where} refused the model {model!r}{told}")
        case _ if status >= 500:
            return ModelError(
                Trouble.BUSY, f"{where} is overloaded ({status}){told}", retry_after=retry_after
            )
    return ModelError(Trouble.REFUSED, f"{where} refused the request ({status}){told}")


def _is_about_tools(words: str) -> bool:
    words = words.lower()
    return "tool" in words and any(w in words for w in ("support", "not ", "unknown", "unexpected"))


def _words(error: Any) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict) and isinstance(inner.get("message"), str):
            return _short(inner["message"])
    return _short(getattr(error, "message", ""))


def _short(thing: object) -> str:
    words = " ".join(str(thing).split())
    return words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 1] + "…"


def _seconds(value: str | None) -> float | None:
    try:
        return max(0.0, min(float(value or ""), 3600.0))
    except ValueError:
        return None
