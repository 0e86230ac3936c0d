import { UnreadableValueError } from "../../errors/storage/UnreadableValueError.ts";
import type { AnswerRecord } from "../records/callRecords.ts";
import type { RecordedCall } from "../state/AgentState.ts";
import type { ValueReader } from "../state/ValueReader.ts";

/** An answer, and its place among all records of the log. */
interface PlacedAnswer {
  readonly record: AnswerRecord;
  readonly order: number;
}

/** What an answer says of a call that it asks for. */
interface RequestedCall {
  readonly tool: unknown;
  readonly input: unknown;
  readonly order: number;
}

/**
 * The inputs of the tool calls of a log. A call that a model asked for has its input in the answer that asks for it, and is
 * none that may be made or reverted unless an answer before it asks for this tool. Answers are read newest first, as far as
 * they are needed.
 */
export class RequestedCalls {
  readonly #reader: ValueReader;
  /** Not read yet; the newest is the last. */
  readonly #unread: PlacedAnswer[];
  readonly #found = new Map<string, RequestedCall[]>();
  /** Why an answer could not be read: it may have asked for a call that is not found. */
  #unreadable: { readonly error: unknown } | undefined;

  /** @param answers oldest first. */
  constructor(answers: readonly PlacedAnswer[], reader: ValueReader) {
    this.#unread = [...answers];
    this.#reader = reader;
  }

  /**
   * The input of a call as the model or the caller wrote it: its own, or that of the answer which asked for it.
   *
   * @throws UnreadableValueError when it has none and no answer before it asks for it.
   */
  inputOf(call: RecordedCall): unknown {
    const own = call.intent ?? call.outcome;
    if (own && "input" in own) return this.#reader.read(own.input);
    const requested = this.#requestFor(call);
    if (!requested && this.#unreadable) throw this.#unreadable.error;
    if (!requested || requested.tool !== (own?.tool ?? requested.tool))
      throw new UnreadableValueError(
        `no answer of a model asks for tool call ${call.call} of "${own?.tool}", and it has no input of its own`,
      );
    return requested.input;
  }

  #requestFor({ call, order }: RecordedCall): RequestedCall | undefined {
    const isBefore = (requested: RequestedCall) => requested.order < order;
    let requested = this.#found.get(call)?.find(isBefore);
    while (!requested && this.#readNext()) requested = this.#found.get(call)?.find(isBefore);
    return requested;
  }

  #readNext(): boolean {
    const answer = this.#unread.pop();
    if (!answer) return false;
    try {
      const message: unknown = this.#reader.message(answer.record.message);
      for (const { toolCallId, toolName: tool, input } of callPartsOf(message))
        this.#found.set(toolCallId, [...(this.#found.get(toolCallId) ?? []), { tool, input, order: answer.order }]);
    } catch (error) {
      this.#unreadable ??= { error };
    }
    return true;
  }
}

interface CallPart {
  readonly toolCallId: string;
  readonly toolName?: unknown;
  readonly input?: unknown;
}

/** What is stored as an answer may be anything. */
function callPartsOf(message: unknown): readonly CallPart[] {
  const { content } = Object(message) as { readonly content?: unknown };
  return Array.isArray(content) ? content.filter(isCallPart) : [];
}

function isCallPart(part: unknown): part is CallPart {
  const { type, toolCallId } = Object(part) as { readonly type?: unknown; readonly toolCallId?: unknown };
  return type === "tool-call" && typeof toolCallId === "string";
}
