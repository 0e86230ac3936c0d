import type { LineRecording, RecordedResponse, RecordedToolCall, Recording } from "../../replay/recording/Recording.ts";
import { type Divergence, shownCall, shownError, ReplayStop } from "../../replay/results/Divergence.ts";
import { sameValue } from "../../replay/results/sameValue.ts";
import type { ApprovableCall } from "./HostedLoop.ts";
import type { LoopObserver } from "./RecordedLoop.ts";

type Found = Pick<Divergence, "what" | "expected" | "actual">;

/** How a replayed loop ended: with a value, with an error, or at the end of its records. */
export type LoopEnd = { readonly value: unknown } | { readonly error: unknown };

/** Compares the requests and calls of a replayed loop with its recording, up to the first difference. */
export class LoopComparison implements LoopObserver {
  readonly #stop = new ReplayStop();
  readonly #recording: Recording;
  readonly #answers: ReadonlyMap<number, RecordedResponse>;
  readonly #calls: ReadonlyMap<string, RecordedToolCall>;
  readonly #asked = new Set<RecordedResponse | RecordedToolCall>();
  #found: Found | undefined;
  /** The first request or call that has no record. */
  #unrecorded: Found | undefined;

  constructor(recording: Recording) {
    this.#recording = recording;
    const { answers, calls } = ownResults(recording.line);
    this.#answers = new Map(answers.map((answer) => [answer.ordinal, answer]));
    this.#calls = new Map(calls.map((call) => [call.toolCallId, call]));
  }

  requesting(ordinal: number): void {
    const recorded = this.#answers.get(ordinal);
    if (!recorded) this.#end({ what: "request", actual: { request: ordinal + 1 } });
    this.#asked.add(recorded);
  }

  calling(ids: readonly string[], call: { readonly toolName: string; readonly input: unknown }): void {
    const id = ids.find((each) => this.#calls.has(each));
    const recorded = id === undefined ? undefined : this.#calls.get(id);
    const actual = shownCall(call);
    if (!recorded) this.#end({ what: "call", actual });
    this.#asked.add(recorded);
    if (recorded.toolName === call.toolName && sameValue(recorded.input, call.input)) return;
    this.#found ??= { what: "call", expected: shownCall(recorded), actual };
    throw this.#stop;
  }

  approving({ tool, input }: ApprovableCall, isRecorded: boolean): void {
    if (!isRecorded) this.#end({ what: "input", actual: shownCall({ toolName: tool.tool.name, input }) });
  }

  /** Returns the first difference. `undefined` if the loop has made the recorded requests and calls. */
  divergence(end: LoopEnd): Divergence | undefined {
    const found = this.#found ?? this.#missing() ?? this.#difference(end);
    return found && { ...found, nodeId: "run", agentPath: [], messages: [] };
  }

  /** Ends the replay. A loop that requests more than its records contain is at its end, so no result arrives. */
  #end(found: Found): never {
    this.#unrecorded ??= found;
    throw this.#stop;
  }

  #missing(): Found | undefined {
    const [first] = [...this.#answers.values(), ...this.#calls.values()]
      .filter((result) => !this.#asked.has(result))
      .toSorted((a, b) => a.order - b.order);
    if (!first) return undefined;
    if (this.#unrecorded?.what === "input") return this.#unrecorded;
    const expected = "message" in first ? first.message : shownCall(first);
    const actual = this.#unrecorded?.actual;
    return { what: "message" in first ? "request" : "call", expected, ...(actual !== undefined && { actual }) };
  }

  #difference(end: LoopEnd): Found | undefined {
    const { status, error: recorded } = this.#recording.end;
    if (this.#unrecorded) return status === "completed" ? this.#unrecorded : undefined;
    if ("error" in end) return isSameFailure(status, recorded, end.error) ? undefined : failure(recorded, end.error);
    if (status === "failed") return { what: "failure", expected: recorded, actual: { ended: true } };
    return status === "waiting" ? { what: "path", expected: { status }, actual: { status: "completed" } } : undefined;
  }
}

type RecordedError = Recording["end"]["error"];

function isSameFailure(status: string, recorded: RecordedError, error: unknown): boolean {
  const { name, message } = shownError(error);
  return status === "failed" && recorded?.name === name && recorded.message === message;
}

function failure(recorded: RecordedError, error: unknown): Found {
  const expected = recorded && { name: recorded.name, message: recorded.message };
  return { what: "failure", ...(expected && { expected }), actual: shownError(error) };
}

/** Returns the results of the loop itself from its last execution. Results of nested loops belong to the outer call. */
function ownResults({ answers, calls }: LineRecording): Pick<LineRecording, "answers" | "calls"> {
  const { visit: [base, ordinal] = [0, 0] } = [...answers, ...calls].toSorted((a, b) => a.order - b.order).at(-1) ?? {};
  const isOwn = ({ visit, within }: RecordedResponse | RecordedToolCall) =>
    within === undefined && visit[0] === base && visit[1] === ordinal;
  return { answers: answers.filter(isOwn), calls: calls.filter((call) => call.outcome && isOwn(call)) };
}
