"""What requests and responses look like; the OpenAPI document is made from this.

Requests are strict about types and bounds and ignore fields they do not know, as OpenAI's own server does.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from ..core.taxonomy import EMOTIONS, INTENTS, NEUTRAL
from ..core.types import Context, Turn, Wish
from .settings import (
    LONGEST_MESSAGE,
    LONGEST_STOP,
    MOST_CANDIDATES,
    MOST_CHARACTERS,
    MOST_CHOICES,
    MOST_MESSAGES,
    MOST_STOPS,
    MOST_TEXTS,
    MOST_TOKENS,
)


class _Asked(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


def _one_of(known: tuple[str, ...]) -> Any:
    def check(value: str) -> str:
        if value not in known:
            raise ValueError("known: " + ", ".join(known))
        return value

    return Annotated[str, AfterValidator(check), WithJsonSchema({"type": "string", "enum": list(known)})]


Emotion: Any = _one_of(EMOTIONS)
Intent: Any = _one_of((*INTENTS, NEUTRAL))
Level = Annotated[int, Field(ge=0, le=2)]
Seed = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Tokens = Annotated[int, Field(ge=1, le=MOST_TOKENS)]
Temperature = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]
TopP = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=LONGEST_MESSAGE)]
StopText = Annotated[str, Field(min_length=1, max_length=LONGEST_STOP)]
ModelName = Annotated[str, Field(max_length=200)]


class TextPart(_Asked):
    type: Literal["text"]
    text: Text


class Message(_Asked):
    """One turn. `developer` is a newer name of `system`; both are taken and not used."""

    role: Literal["user", "assistant", "system", "developer"]
    content: Text | Annotated[list[TextPart], Field(min_length=1, max_length=32)]

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "\n".join(part.text for part in self.content)


def _conversation(messages: list[Message]) -> list[Message]:
    turns = [m for m in messages if m.role in ("user", "assistant")]
    if not turns or turns[-1].role != "user" or not turns[-1].text.strip():
        raise ValueError("the last message must be the user's, and not empty")
    if sum(len(m.text) for m in messages) > MOST_CHARACTERS:
        raise ValueError(f"a conversation may have {MOST_CHARACTERS} characters; leave out the oldest messages")
    return messages


Messages = Annotated[list[Message], Field(min_length=1, max_length=MOST_MESSAGES), AfterValidator(_conversation)]


def context_of(messages: list[Message]) -> Context:
    """The conversation as responders see it; system messages are left out."""
    roles: dict[str, Literal["speaker", "listener"]] = {"user": "speaker", "assistant": "listener"}
    return Context(tuple(Turn(roles[m.role], m.text) for m in messages if m.role in roles))


class Mechanisms(_Asked):
    emotional_reaction: Level | None = None
    interpretation: Level | None = None
    exploration: Level | None = None


class WishBody(_Asked):
    """What the reply should be like. Whatever is left out is the responder's own choice."""

    emotion: Emotion | None = None
    intent: Intent | None = None
    mechanisms: Mechanisms | None = None
    stochastic: bool | None = None
    seed: Seed | None = None
    length: Tokens | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    candidates: Annotated[int, Field(ge=1, le=MOST_CANDIDATES)] | None = None

    def wish(self, stop: tuple[str, ...] = (), **usual: Any) -> Wish:
        """As responders take it; `usual` fills what is not asked for here."""
        asked = self.model_dump(exclude_none=True, exclude={"mechanisms"})
        mechanisms = self.mechanisms.model_dump(exclude_none=True) if self.mechanisms else None
        return Wish(**(usual | asked), mechanisms=mechanisms or None, stop=stop)


class ReplyRequest(_Asked):
    messages: Messages
    model: ModelName | None = None
    wish: WishBody | None = None
    stream: bool | None = False


class PerceiveRequest(_Asked):
    messages: Messages


class StreamOptions(_Asked):
    include_usage: bool | None = None


class ChatRequest(_Asked):
    """OpenAI's request; `empathia` is our own addition."""

    messages: Messages
    model: ModelName | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=MOST_CHOICES)] | None = None
    seed: Seed | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=MOST_STOPS)] | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    user: Annotated[str, Field(max_length=512)] | None = None
    empathia: WishBody | None = None

    @property
    def longest(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    def wish(self) -> Wish:
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        usual = {"seed": self.seed, "length": self.longest, "temperature": self.temperature, "top_p": self.top_p}
        return (self.empathia or WishBody()).wish(stop, **usual)


class EmbeddingsRequest(_Asked):
    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)]
    model: ModelName | None = None
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(ge=1, le=65_536)] | None = None
    user: Annotated[str, Field(max_length=512)] | None = None


class Found(BaseModel):
    """Everything known of a context; a field nobody filled is left out."""

    emotion: dict[str, float | None] | None = None
    polarity: float | None = None
    causes: list[int] | None = None
    cause_words: list[list[int]] | None = None
    sentiment: float | None = None
    exemplars: list[dict[str, Any]] | None = None
    inferences: list[dict[str, Any]] | None = None
    intent: dict[str, float | None] | None = None
    mechanisms: dict[str, float | None] | None = None


class Weighed(BaseModel):
    text: str
    scores: dict[str, float | None]


class Guarded(BaseModel):
    level: Literal["none", "alert", "crisis"]
    category: Literal["suicide", "self_harm", "abuse", "violence"] | None
    explicit: bool
    imminent: bool
    about: Literal["self", "other"]
    why: str
    replaces_reply: bool
    text: str


class Why(BaseModel):
    """How a reply came about."""

    evidence: Found
    candidates: list[Weighed]
    timings: dict[str, float | None]
    guard: Guarded


class ReplyResponse(Why):
    id: str
    model: str
    text: str


class PerceiveResponse(BaseModel):
    evidence: Found


class Spoken(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    index: int
    message: Spoken
    logprobs: None = None
    finish_reason: Literal["stop", "length"]


class Usage(BaseModel):
    """Words and punctuation marks: responders count tokens differently, or not at all."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    system_fingerprint: str
    empathia: Why


class Model(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    description: str | None = None


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


class Embedding(BaseModel):
    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    prompt_tokens: int
    total_tokens: int


class EmbeddingList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage


class Taxonomy(BaseModel):
    emotions: list[str]
    positive: list[str]
    intents: list[str]
    neutral: str
    mechanisms: list[str]
    levels: list[int]


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    model: str
    keeps_conversations: bool


class ErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(BaseModel):
    error: ErrorDetail


_REQUESTS = (ReplyRequest, PerceiveRequest, ChatRequest, EmbeddingsRequest, StreamOptions, Message, TextPart, WishBody)
#: every name a request's field can have: error messages may say these, and nothing else of a body
FIELDS = frozenset(name for model in (*_REQUESTS, Mechanisms) for name in model.model_fields)
