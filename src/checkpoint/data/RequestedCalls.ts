import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { AnswerRecord } from "../records/callRecords.ts";
import type { RecordedCall } from "../state/AgentState.ts";
import type { ValueReader } from "../state/ValueReader.ts";
import type { CheckpointToolCall } from "./AgentCheckpointData.ts";

interface PlacedAnswer {
  readonly record: AnswerRecord;
  readonly order: number;
}

interface RequestedCall {
  readonly tool: unknown;
  readonly input: unknown;
  readonly order: number;
}

/** Finds the inputs of the tool calls of a log. Reads inputs that a model chose from its responses, newest first. */
export class RequestedCalls {
  readonly #reader: Pick<ValueReader, "read" | "message">;
  readonly #unread: PlacedAnswer[];
  readonly #found = new Map<string, RequestedCall[]>();
  #unreadable: { readonly error: unknown } | undefined;

  constructor(answers: readonly PlacedAnswer[], reader: Pick<ValueReader, "read" | "message">) {
    this.#unread = [...answers];
    this.#reader = reader;
  }

  /** Returns the input as the model or the caller wrote it. @throws UnreadableValueError if no record has the input. */
  inputOf(call: RecordedCall): unknown {
    const own = call.intent ?? call.outcome;
    if (own && "input" in own) return this.#reader.read(own.input);
    const requested = this.#requestFor(call);
    if (!requested && this.#unreadable) throw this.#unreadable.error;
    if (!requested || requested.tool !== (own?.tool ?? requested.tool))
      throw new UnreadableValueError(
        `tool call ${call.call} of "${own?.tool}" has no recorded input, and no model response requests it`,
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

/** Checks the types, because stored responses are untrusted. */
function callPartsOf(message: unknown): readonly CallPart[] {
  const { content } = Object(message) as { readonly content?: unknown };
  return Array.isArray(content) ? content.filter(isCallPart) : [];
}

function isCallPart(part: unknown): part is CallPart {
  const { type, toolCallId } = Object(part) as { readonly type?: unknown; readonly toolCallId?: unknown };
  return type === "tool-call" && typeof toolCallId === "string";
}

export function callFacts(call: RecordedCall): {
  readonly tool: string;
  readonly effect: string;
  readonly node: string;
  readonly inverse: boolean;
} {
  const { tool, effect, node, inverse } = call.intent ?? call.outcome ?? {};
  return { tool: tool ?? "", effect: effect ?? "none", node: node ?? "", inverse: inverse ?? false };
}

export function checkpointToolCall(
  call: RecordedCall,
  requested: RequestedCalls,
  reader: ValueReader,
): CheckpointToolCall | undefined {
  const { outcome } = call;
  if (!outcome || outcome.unstarted || outcome.retry || outcome.suspended) return undefined;
  const { tool, effect } = callFacts(call);
  const base = { toolCallId: call.call, toolName: tool, effect, input: requested.inputOf(call) };
  if (outcome.error) return { ...base, status: "failed", error: outcome.error.message };
  if (outcome.moved) return { ...base, status: "moved" };
  if (outcome.lost) return { ...base, status: "lost" };
  if (outcome.unknown) return { ...base, status: "unknown" };
  return { ...base, status: "succeeded", output: reader.read(outcome.output) };
}
