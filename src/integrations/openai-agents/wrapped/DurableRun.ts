import type { RunToolApprovalItem, Session, ModelRequest, ModelResponse } from "@openai/agents-core";
import { AsyncLocalStorage } from "node:async_hooks";
import type { InvalidInputError } from "../../../errors/agentErrors.ts";
import { Mutex } from "../../../internal/Mutex.ts";
import type { HostedLoop, GivenHostedResponse } from "../../hosted/HostedLoop.ts";
import type { AnySdkAgent, AnySdkTool } from "./AnyAgent.ts";
import type { KnownTools } from "./KnownTools.ts";
import { isHostedCall, responseOf } from "./recordedAnswer.ts";

/** The state that the wrappers of one run share in this process. */
export class DurableRun {
  readonly agentId: string;
  readonly runId: string;
  readonly ids = new ProvidedIds();
  /** The durable agents by their originals. */
  readonly agents = new WeakMap<AnySdkAgent, AnySdkAgent>();
  readonly tools = new WeakMap<AnySdkTool, AnySdkTool>();
  /** The wrapped sessions by original session and by the tool call that uses it. */
  readonly sessions = new WeakMap<Session, Map<string | undefined, Session>>();
  /** The approvals at which loops of the run stopped, by the library's call ids. */
  readonly approvals = new Map<string, RunToolApprovalItem>();
  /** Set if a replay ends because it would execute tools. The error names these tools. */
  refusal: InvalidInputError | undefined;
  readonly #turns = new Map<string, Mutex>();

  /**
   * @param isFinished whether the run is over and is only replayed
   * @param executesNothing whether the run is compared with its records, so that no tool may execute
   */
  constructor(
    readonly loop: HostedLoop,
    readonly knownTools: KnownTools,
    readonly isFinished: boolean,
    readonly executesNothing = false,
    /** Returns whether a rollback has set the run back. */
    readonly isReopened: () => Promise<boolean> = async () => true,
  ) {
    ({ agentId: this.agentId, runId: this.runId } = loop);
  }

  /**
   * Waits until the records of the run are durable, and returns whether the run may change a session. A finished run
   * has already made its changes. A stopped run makes its changes when it is resumed.
   */
  async mayChange(): Promise<boolean> {
    const { loop } = this;
    if (this.isFinished || loop.signal.aborted || loop.failure) return false;
    await loop.durable();
    return true;
  }

  /** Serializes agent runs inside one tool call, because their requests are matched by order. */
  turnOf(toolCallId: string): Mutex {
    const known = this.#turns.get(toolCallId);
    if (known) return known;
    const turns = new Mutex();
    this.#turns.set(toolCallId, turns);
    return turns;
  }
}

interface CurrentCall {
  readonly run: DurableRun;
  /** The enclosing tool call, or `undefined` in the loop of the run. */
  readonly call?: string;
}

const places = new AsyncLocalStorage<CurrentCall>();

/** Returns the durable run of the current code. `undefined` in code whose model requests are not recorded. */
export function currentRun(): DurableRun | undefined {
  return places.getStore()?.run;
}

export function currentCall(): string | undefined {
  return places.getStore()?.call;
}

export function inRun<Result>(run: DurableRun, call: string | undefined, work: () => Result): Result {
  return places.run(call === undefined ? { run } : { run, call }, work);
}

/** Runs code outside the recorded loop, such as guardrails. This code may run in any order and is not recorded. */
export function besideTheRun<Parameters extends readonly unknown[], Result>(
  code: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  return (...parameters) => places.exit(() => code(...parameters));
}

type Item = Extract<ModelRequest["input"], readonly unknown[]>[number];

/** Maps between the provider's ids of calls and the unique ids of this library, which the SDK and tools see. */
class ProvidedIds {
  readonly #provided = new Map<string, string>();
  /** The ids from earlier runs, which a session provided. */
  readonly #earlier = new Map<string, string>();

  /** The library's ids of calls that the provider executes, by the ids that the SDK sees. */
  readonly #hosted = new Map<string, string>();

  /** Registers the ids of a response and returns the response for the SDK. */
  noted(given: GivenHostedResponse): ModelResponse {
    const { content } = given.message;
    for (const part of typeof content === "string" ? [] : content) {
      if (part.type !== "tool-call") continue;
      const { toolCallId, providerToolCallId = toolCallId } = part;
      if (isHostedCall(part)) this.#hosted.set(providerToolCallId, toolCallId);
      else this.#provided.set(toolCallId, providerToolCallId);
    }
    return responseOf(given);
  }

  learn(ids: readonly (readonly [call: string, provided: string])[]): void {
    for (const [call, provided] of ids) this.#earlier.set(call, provided);
  }

  /** Returns the provider's id of a call, or `undefined` if no other id is known. */
  providedOf(callId: string): string | undefined {
    return this.#provided.get(callId) ?? this.#earlier.get(callId);
  }

  has(toolCallId: string): boolean {
    return this.#provided.has(toolCallId);
  }

  /** Returns the library's id of a call that waits for an approval. `undefined` if no recorded response requests it. */
  ofApproval(call: RunToolApprovalItem["rawItem"]): string | undefined {
    if (call.type === "hosted_tool_call") return this.#hosted.get(String(call.providerData?.["id"] ?? call.id));
    return "callId" in call && this.has(call.callId) ? call.callId : undefined;
  }

  /** Returns the request with the provider's ids. Calls of unknown runs keep their ids. */
  provided(request: ModelRequest): ModelRequest {
    const { input } = request;
    return typeof input === "string" ? request : { ...request, input: this.providedItems(input) };
  }

  /** Returns items with the provider's ids. Calls of unknown runs keep their ids. */
  providedItems(items: readonly Item[]): Item[] {
    return items.map((item) => this.#item(item));
  }

  #item(item: Item): Item {
    if (item.type !== "function_call" && item.type !== "function_call_result") return item;
    const callId = this.providedOf(item.callId);
    return callId === undefined ? item : { ...item, callId };
  }
}
