import { RequestNotOpenError } from "../../errors/requestErrors.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import type {
  HostedAgents,
  HostedBody,
  HostedResult,
  HostedReplay,
  HostedReplayOptions,
} from "../hosted/HostedAgents.ts";
import type { HostedLoop } from "../hosted/HostedLoop.ts";
import type { HostedTool } from "../hosted/HostedTool.ts";
import type { RunRecords } from "../hosted/RunRecords.ts";
import { givenAnswers, type CallInput, runLegs } from "./runLegs.ts";
import { type Durable, DurableDefinition } from "./Durable.ts";
import type { BoundAgentOptions, DurableAgentOptions } from "./DurableAgentOptions.ts";
import type { ProviderMessage, ProviderPart } from "../ai-sdk/AiSdkLanguageModel.ts";
import { StreamLegs, type StreamResult } from "./StreamLegs.ts";
import { PollIntervals } from "../../streams/follow/attachStream.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { pause } from "../../internal/abortable.ts";
import { systemClock } from "../../internal/Clock.ts";
import { AgentBusyError } from "../../errors/storageErrors.ts";
import { RunStoppedError } from "../../errors/runErrors.ts";

/** Any agent of the AI SDK, in any version of its interface. */
export interface AnyAgent {
  readonly version: string;
  readonly id: string | undefined;
  readonly tools: unknown;
  generate(options: never): PromiseLike<unknown>;
  stream(options: never): PromiseLike<unknown>;
}

/** The options of a call. {@link CallInput} is stored with the run. The other options apply only in this process. */
export interface CallOptions extends CallInput {
  readonly abortSignal?: AbortSignal | undefined;
}

interface GenerateResult {
  readonly response: { readonly messages: readonly ProviderMessage[] };
  readonly responseMessages?: readonly ProviderMessage[];
}

type Rest = Readonly<Record<string, unknown>>;

type RunBody = (body: HostedBody<unknown>) => Promise<HostedResult<unknown>>;

/** The run that a caller requests. Before the requested run starts, the call possibly finishes another run. */
interface RequestedRun {
  readonly input: CallInput;
  readonly runId: string | undefined;
}

export class AgentRunner {
  readonly #hosted: HostedAgents;
  readonly #define: (durable: Durable) => AnyAgent;
  readonly #redact: DurableAgentOptions["redact"];
  readonly #streams = new Map<string, StreamLegs>();
  /** Pending starts by agent. Each promise resolves once the run has started or has failed to start. */
  readonly #beginnings = new Map<string, Promise<void>>();

  constructor(hosted: HostedAgents, define: (durable: Durable) => AnyAgent, redact: DurableAgentOptions["redact"]) {
    this.#hosted = hosted;
    this.#define = define;
    this.#redact = redact;
  }

  async generate(agentId: string, call: CallOptions, options: BoundAgentOptions): Promise<unknown> {
    const { input, rest, abortSignal: signal } = partsOf(call);
    const given = await givenAnswers(this.#hosted, agentId, input);
    const asked = { rest, ours: given ? undefined : { input, runId: options.runId } };
    return this.#generated(agentId, asked, (body) =>
      given
        ? this.#hosted.resume({ agentId, signal, answers: given.answers }, body)
        : this.#hosted.run(input, { agentId, signal, ...options }, body),
    );
  }

  resume(agentId: string, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#generated(agentId, { rest: {} }, (body) => this.#hosted.resume({ agentId, signal }, body));
  }

  async replay(agentId: string, options: HostedReplayOptions): Promise<HostedReplay<unknown>> {
    return this.#hosted.compare(agentId, options, this.#generating({}, {}));
  }

  async #generated(
    agentId: string,
    { rest, ours }: { readonly rest: Rest; readonly ours?: RequestedRun | undefined },
    run: RunBody,
  ): Promise<unknown> {
    const passes: { last?: unknown } = {};
    const result = await this.#run(agentId, this.#generating(passes, rest, ours), run);
    if (result.status === "completed") return result.value;
    // `passes` is empty if another call executed the run.
    return "last" in passes ? passes.last : this.#replayedWait(agentId);
  }

  /** Returns the result with which a run waits. */
  async #replayedWait(agentId: string): Promise<unknown> {
    const passes: { last?: unknown } = {};
    const records = await this.#hosted.records(agentId);
    const waits = new Error("the run waits");
    const follow = () => Promise.reject(waits);
    await this.#hosted.replay(records, this.#generating(passes, {}), { follow }).catch((error: unknown) => {
      if (error !== waits) throw error;
    });
    return passes.last;
  }

  async stream(agentId: string, call: CallOptions, options: BoundAgentOptions): Promise<StreamResult> {
    const { input, rest, abortSignal: signal } = partsOf(call);
    const given = await givenAnswers(this.#hosted, agentId, input);
    if (given)
      return this.#streaming(agentId, { rest, decided: given.ids }, (body) =>
        this.#hosted.resume({ agentId, signal, answers: given.answers }, body),
      );
    if (options.whenBusy === "join") return this.#joinedStream(agentId, call, options);
    return this.#streaming(agentId, { rest, ours: { input, runId: options.runId } }, (body) =>
      this.#hosted.run(input, { agentId, signal, ...options }, body),
    );
  }

  resumeStream(agentId: string, signal: AbortSignal | undefined): Promise<StreamResult> {
    return this.#streaming(agentId, { rest: {} }, (body) => this.#hosted.resume({ agentId, signal }, body));
  }

  async attach(agentId: string, signal: AbortSignal | undefined): Promise<StreamResult | undefined> {
    for (let isFirst = true; ; isFirst = false) {
      const records = await this.#hosted.records(agentId);
      // The run possibly finished between the two reads.
      const shown = await this.#shown(records, signal, !isFirst);
      if (shown) return shown;
      const beginning = this.#beginnings.get(agentId);
      if (!beginning && !(await isAbandoned(this.#hosted, records))) return undefined;
      // No signal is passed, because the run continues when the client disconnects.
      const resumed = beginning
        ? await beginning
        : await unlessBusy(() => this.resumeStream(agentId, undefined), signal);
      if (resumed) return resumed;
    }
  }

  /** Returns the stream of the run in progress. If no run is in progress, starts a run. */
  async #joinedStream(agentId: string, call: CallOptions, options: BoundAgentOptions): Promise<StreamResult> {
    const { abortSignal: signal } = call;
    for (;;) {
      const records = await this.#hosted.records(agentId);
      const isInProgress = this.#streams.has(agentId) || (records.exists && records.status === "in_progress");
      const present = isInProgress ? await this.#shown(records, signal) : undefined;
      const stream =
        present ?? (await unlessBusy(() => this.stream(agentId, call, { ...options, whenBusy: "reject" }), signal));
      if (stream) return stream;
    }
  }

  /**
   * Returns the stream of an unfinished run.
   *
   * @param showsEnd - whether to return the stream of a completed run as well.
   */
  async #shown(
    records: RunRecords,
    signal: AbortSignal | undefined,
    showsEnd = false,
  ): Promise<StreamResult | undefined> {
    const { agentId } = records;
    const own = this.#streams.get(agentId);
    if (own?.result) return signal ? own.until(signal) : own.result;
    const follow = await followed(this.#hosted, records, signal);
    if (!follow && !(showsEnd && records.exists && records.status === "completed")) return undefined;
    return this.#streaming(agentId, { rest: {}, isFollowing: true }, async (body) => {
      const value = await this.#hosted.replay(records, body, { signal, ...(follow && { follow }) });
      return { status: "completed", runId: records.runId, value };
    });
  }

  /** @param ours - the requested run, whose results are returned. Defaults to any run. */
  #generating(passes: { last?: unknown }, rest: Rest, ours?: RequestedRun): HostedBody<unknown> {
    return async (loop, stored) => {
      const { agent, tools, input } = this.#begun(loop, stored);
      const isOurs = isRequested(ours, loop, stored);
      return runLegs(loop, { tools: tools(), input }, async (next) => {
        const call = { ...(isOurs && rest), ...next, abortSignal: loop.signal };
        const result = (await agent.generate(call as never)) as GenerateResult;
        if (isOurs) passes.last = result;
        return { result, messages: Promise.resolve(result.responseMessages ?? result.response.messages) };
      });
    };
  }

  /** Starts a run and resolves to its stream. The run continues even if the stream is not read. */
  async #streaming(
    agentId: string,
    {
      rest,
      ours,
      decided: wanted,
      isFollowing = false,
    }: {
      readonly rest: Rest;
      readonly ours?: RequestedRun;
      /** The stream starts when a call with one of these ids is decided. By default, it starts with the run. */
      readonly decided?: readonly string[];
      readonly isFollowing?: boolean;
    },
    run: RunBody,
  ): Promise<StreamResult> {
    return new Promise<StreamResult>((resolve, reject) => {
      let shown: StreamLegs | undefined;
      let whole: StreamLegs | undefined;
      const complete = () => [whole, shown].forEach((legs) => legs?.complete());
      const body: HostedBody<unknown> = async (loop, stored) => {
        const { agent, tools, input } = this.#begun(loop, stored);
        const isOurs = isRequested(ours, loop, stored);
        let isShowing = wanted === undefined;
        complete();
        const all = new StreamLegs(loop.runId);
        const own = wanted ? new StreamLegs(loop.runId) : all;
        [whole, shown] = [all, own];
        // A later `attach` also shows the part before the decision, which this caller has already seen.
        if (!isFollowing) this.#streams.set(agentId, all);
        const run = runLegs(loop, { tools: tools(), input }, async (next, decided) => {
          const call = { ...(isOurs && rest), ...next, abortSignal: loop.signal };
          const result = (await agent.stream(call as never)) as StreamResult;
          isShowing ||= decided.some((id) => wanted?.includes(id));
          const joined = isOurs ? all.add(result) : undefined;
          if (joined && isShowing) resolve(own === all ? joined : own.add(result));
          return { result, messages: consumed(result, loop.signal) };
        });
        // Ends the caller's stream only after the run, so that the caller's next call finds the agent free.
        return isOurs ? run : run.finally(complete);
      };
      const carriedOut = isFollowing ? run(body) : this.#run(agentId, body, run);
      carriedOut
        .then(
          async (result) => {
            if (shown?.result) return;
            if (result.status === "waiting") resolve(await this.#stillWaiting(agentId));
            // A rollback has removed the calls that were decided.
            else if (wanted)
              throw new RequestNotOpenError("request_not_found", agentId, String(wanted[0]), undefined, []);
          },
          (error: unknown) => reject(error as Error),
        )
        .finally(() => {
          complete();
          if (this.#streams.get(agentId) === whole) this.#streams.delete(agentId);
        })
        .catch((error: unknown) => reject(error as Error));
    });
  }

  async #stillWaiting(agentId: string): Promise<StreamResult> {
    const attached = await this.attach(agentId, undefined);
    if (!attached)
      throw new TypeError(`Agent "${agentId}" continued while its stream was created. Call attach() again.`);
    return attached;
  }

  /** Executes a run. While the run starts, `attach` can wait for the run in `#beginnings`. */
  #run(agentId: string, body: HostedBody<unknown>, run: RunBody): Promise<HostedResult<unknown>> {
    let begin: () => void = () => undefined;
    const beginning = new Promise<void>((resolve) => (begin = resolve)).then(() => {
      if (this.#beginnings.get(agentId) === beginning) this.#beginnings.delete(agentId);
    });
    this.#beginnings.set(agentId, beginning);
    return run((loop, input) => {
      begin();
      return body(loop, input);
    }).finally(begin);
  }

  #begun(loop: HostedLoop, stored: unknown) {
    const durable = new DurableDefinition(loop, this.#redact);
    const agent = this.#define(durable.handle);
    const input = stored as CallInput;
    return { agent, input, tools: (): readonly HostedTool[] => durable.hostedTools };
  }
}

function isRequested(requested: RequestedRun | undefined, { runId }: HostedLoop, input: unknown): boolean {
  if (!requested) return true;
  return (requested.runId ?? runId) === runId && isSameValue(input, requested.input);
}

/** Splits the options of a call into the input, which is stored, and the rest, such as callbacks and timeouts. */
function partsOf({ prompt, messages, options, abortSignal, ...rest }: CallOptions) {
  const input: CallInput = withoutUndefined({ prompt, messages, options });
  return { input, rest: rest as Rest, abortSignal };
}

/** Reads a stream to its end and returns the messages that it added. @throws the error that the stream reports */
async function consumed(result: StreamResult, signal: AbortSignal): Promise<readonly ProviderMessage[]> {
  let failure: { readonly error: unknown } | undefined;
  for await (const part of result.fullStream as unknown as AsyncIterable<ProviderPart>) {
    if (part.type === "error") failure ??= { error: part["error"] };
    if (part.type === "abort") failure ??= { error: signal.reason ?? new Error("The stream was aborted.") };
  }
  if (failure) throw failure.error;
  return (await result.responseMessages) ?? (await result.response).messages;
}

/** The shortest polling interval for a run of another process, in milliseconds. */
const pollMs = 100;

/**
 * Returns a function that waits for new records of a run, and that rejects if the run or its process ends.
 *
 * @returns `undefined` if the run is neither in progress nor waiting
 */
async function followed(
  hosted: HostedAgents,
  records: RunRecords,
  signal: AbortSignal = new AbortController().signal,
): Promise<(() => Promise<void>) | undefined> {
  const isFollowed = async () =>
    records.exists &&
    (records.status === "waiting" || (records.status === "in_progress" && (await hosted.isRunning(records.agentId))));
  if (!(await isFollowed())) return undefined;
  const polls = new PollIntervals(pollMs);
  return async () => {
    if (records.status !== "in_progress") throw new RunStoppedError(records.agentId, records.status);
    const isRunning = await hosted.isRunning(records.agentId);
    const isActive = await records.read();
    if (!isRunning && records.status === "in_progress") throw new RunStoppedError(records.agentId, "interrupted");
    const ms = polls.next(isActive);
    if (!isActive) await pause(systemClock, ms, signal);
    signal.throwIfAborted();
  };
}

/** Returns whether a run is unfinished because its process died. */
async function isAbandoned(hosted: HostedAgents, records: RunRecords): Promise<boolean> {
  if (!records.exists || (await hosted.isRunning(records.agentId))) return false;
  // The run possibly finished before its owner released the agent.
  await records.read();
  return records.status === "in_progress";
}

/** Returns the result of `work`. If another process owns the agent, waits for a moment and returns `undefined`. */
async function unlessBusy<Result>(
  work: () => Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AgentBusyError)) throw error;
    await pause(systemClock, pollMs, signal);
    signal?.throwIfAborted();
    return undefined;
  }
}
