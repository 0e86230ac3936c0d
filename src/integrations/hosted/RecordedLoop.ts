import { replayedOutput } from "../../agent/tool/recordedCall.ts";
import { unexplainedRejection } from "../../agent/tool/Tool.ts";
import type { AssistantMessage } from "../../checkpoint/messages/Message.ts";
import { isOver } from "../../checkpoint/records/callRecords.ts";
import { toolCallIdAt } from "../../checkpoint/ids/toolCallId.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { HostedPieces, type PieceSource } from "./HostedPieces.ts";
import { hostedResponse, ResponseCalls } from "./responseMessage.ts";
import type { ApprovableCall, GivenHostedResponse, HostedApproval, HostedCall, HostedLoop } from "./HostedLoop.ts";
import type { RunRecords } from "./RunRecords.ts";
import type { LineRecording, RecordedResponse, RecordedToolCall, Recording } from "../../replay/recording/Recording.ts";
import { type Divergence, shownCall, shownError, ReplayStop, sameValue } from "../../replay/results/Divergence.ts";

/** Resolves when the run has new records. Rejects if the run stops without new records. */
type Follow = () => Promise<void>;

/** A loop that returns only recorded results, and can wait for new ones. Tools do not run, so they make no requests. */
export class RecordedLoop implements HostedLoop {
  readonly live = false;
  failure: HostedLoop["failure"];
  readonly signal: AbortSignal;
  readonly #records: RunRecords;
  readonly #sha256: Sha256;
  readonly #follow: Follow;
  /** The pending call of {@link #follow}, which concurrent requests of the loop share. */
  #following: Promise<void> | undefined;
  readonly #streams: PieceSource | undefined;
  readonly #comparison: LoopComparison | undefined;
  readonly #calls = new ResponseCalls();
  #answers = 0;
  #steps = 0;
  /** By the id of a call in the loop: its possible ids in the records. */
  readonly #ids = new Map<string, readonly string[]>();

  /**
   * @param options.follow waits for more records. Omit it for a finished run.
   * @param options.streams contains the texts of incomplete responses. Omit it to receive only complete responses.
   * @param options.comparison compares the requests of the loop with the records
   */
  constructor(
    records: RunRecords,
    options: {
      readonly sha256: Sha256;
      readonly signal?: AbortSignal | undefined;
      readonly follow?: Follow;
      readonly streams?: PieceSource | undefined;
      readonly comparison?: LoopComparison | undefined;
    },
  ) {
    this.#streams = options.follow && options.streams;
    this.#comparison = options.comparison;
    this.#records = records;
    this.#sha256 = options.sha256;
    this.signal = options.signal ?? new AbortController().signal;
    this.#follow = options.follow ?? (() => Promise.reject(this.#missing()));
  }

  get agentId(): string {
    return this.#records.agentId;
  }
  get runId(): string {
    return this.#records.runId;
  }

  async answer(): Promise<GivenHostedResponse> {
    const ordinal = this.#answers++;
    this.#compare((comparison) => comparison.requesting(ordinal));
    const record = await this.#found(() => this.#records.answer(ordinal));
    const message = this.#records.readValue(record.message) as AssistantMessage;
    const shown = this.#withIds(message, ordinal);
    this.#calls.add(shown);
    return hostedResponse({ message: shown, usage: record.usage, finishReason: record.finish, replayed: true });
  }

  nextPieces(): HostedPieces | undefined {
    const { agentId, runId } = this;
    const ordinal = this.#answers;
    if (this.#records.answer(ordinal)) return undefined;
    return this.#streams && new HostedPieces(this.#streams, agentId, { runId, ordinal });
  }

  async call(toolCallId: string, call: HostedCall): Promise<unknown> {
    await this.#calls.of(toolCallId);
    return this.#outcome(this.#ids.get(toolCallId) ?? [toolCallId], call);
  }

  async step(call: HostedCall): Promise<unknown> {
    return this.#outcome(this.#idsAt("c", this.#steps++, 0), call);
  }

  async approvals(calls: readonly ApprovableCall[]): Promise<readonly HostedApproval[]> {
    return Promise.all(
      calls.map(async (call): Promise<HostedApproval> => {
        const ids = this.#ids.get(call.toolCallId) ?? [call.toolCallId];
        const reply = () => this.#records.request(...ids)?.reply;
        const isRecorded = reply() !== undefined;
        this.#compare((comparison) => comparison.approving(call, isRecorded));
        const record = await this.#found(reply);
        if (record.expired) return { approved: false, reason: "it was not approved in time" };
        if (record.rejected !== undefined) return { approved: false, reason: record.rejected };
        const { approved, reason = unexplainedRejection } = Object(this.#records.readValue(record.answer ?? null)) as {
          readonly approved?: unknown;
          readonly reason?: string;
        };
        return approved === true ? { approved } : { approved: false, reason };
      }),
    );
  }

  async durable(): Promise<void> {
    // Only the outcome is replayed.
  }

  async #outcome(ids: readonly string[], { tool: { tool }, input }: HostedCall): Promise<unknown> {
    this.#compare((comparison) => comparison.calling(ids, { toolName: tool.name, input }));
    const end = await this.#found(() => {
      const outcome = this.#records.outcome(ids);
      return isOver(outcome) ? outcome : undefined;
    });
    const output = end.output === undefined ? undefined : this.#records.readValue(end.output);
    return replayedOutput(tool.name, end.call, { ...end, output });
  }

  #compare(check: (comparison: LoopComparison) => void): void {
    try {
      if (this.#comparison) check(this.#comparison);
    } catch (error) {
      this.failure ??= { error };
      throw error;
    }
  }

  async #found<Found>(look: () => Found | undefined): Promise<Found> {
    try {
      for (;;) {
        const found = look();
        if (found) return found;
        await (this.#following ??= this.#follow().finally(() => (this.#following = undefined)));
      }
    } catch (error) {
      this.failure ??= { error };
      throw error;
    }
  }

  /** Replaces call ids. A call that a rollback or move repeated has another id than in the response. */
  #withIds(message: AssistantMessage, ordinal: number): AssistantMessage {
    if (typeof message.content === "string") return message;
    const content = message.content.map((part, index) => {
      if (part.type !== "tool-call") return part;
      const ids = [...this.#idsAt("m", ordinal, index), part.toolCallId];
      const toolCallId = this.#records.outcome(ids)?.call ?? part.toolCallId;
      this.#ids.set(toolCallId, ids);
      return { ...part, toolCallId };
    });
    return { ...message, content };
  }

  /** Returns the ids that a call has on the lanes of the run, newest first. */
  #idsAt(kind: "m" | "c", ordinal: number, index: number): readonly string[] {
    const { visit = [0, 0], lines } = this.#records;
    const place = JSON.stringify([...visit, kind, ordinal, index]);
    return lines.map((line) => toolCallIdAt(line, place, this.#sha256));
  }

  #missing(): UnreadableValueError {
    return new UnreadableValueError(
      `run ${this.runId} of agent "${this.agentId}" lacks a record that its loop needs, possibly because the record was pruned`,
    );
  }
}

type Found = Pick<Divergence, "what" | "expected" | "actual">;

/** How a replayed loop ended. An end of the records counts as an error. */
type LoopEnd = { readonly value: unknown } | { readonly error: unknown };

/** Compares the requests and calls of a replayed loop with a recording, up to the first difference. */
export class LoopComparison {
  readonly #stop = new ReplayStop();
  readonly #recording: Recording;
  readonly #answers: ReadonlyMap<number, RecordedResponse>;
  readonly #calls: ReadonlyMap<string, RecordedToolCall>;
  readonly #asked = new Set<RecordedResponse | RecordedToolCall>();
  #found: Found | undefined;
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

  /** @param ids - the possible ids of the call, newest first. */
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

  /** Returns the first difference. `undefined` if the loop has made exactly the recorded requests and calls. */
  divergence(end: LoopEnd): Divergence | undefined {
    const found = this.#found ?? this.#missing() ?? this.#difference(end);
    return found && { ...found, nodeId: "run", agentPath: [], messages: [] };
  }

  /** Ends the replay, because the records contain no result for the request. */
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

/** Returns the results of the loop's last execution. Omits results in tool calls, which belong to the call. */
function ownResults({ answers, calls }: LineRecording): Pick<LineRecording, "answers" | "calls"> {
  const { visit: [base, ordinal] = [0, 0] } = [...answers, ...calls].toSorted((a, b) => a.order - b.order).at(-1) ?? {};
  const isOwn = ({ visit, within }: RecordedResponse | RecordedToolCall) =>
    within === undefined && visit[0] === base && visit[1] === ordinal;
  return { answers: answers.filter(isOwn), calls: calls.filter((call) => call.outcome && isOwn(call)) };
}
