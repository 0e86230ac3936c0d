import type { RunToolApprovalItem, Session, ModelRequest, ModelResponse } from "@openai/agents-core";
import { AsyncLocalStorage } from "node:async_hooks";
import { partsOfType } from "../../../checkpoint/messages/Message.ts";
import type { InvalidInputError } from "../../../errors/agentErrors.ts";
import { KeyedMutex } from "../../../internal/Mutex.ts";
import type { HostedLoop, GivenHostedResponse } from "../../hosted/HostedLoop.ts";
import type { AnySdkAgent, AnySdkTool } from "./AnyAgent.ts";
import type { KnownTools } from "./KnownTools.ts";
import { isHostedCall, responseOf } from "./recordedResponse.ts";

/** What the wrappers of one run share in this process. */
export class DurableRun {
  readonly agentId: string;
  readonly runId: string;
  readonly ids = new ProvidedIds();
  /** By original agent: its durable agent. */
  readonly agents = new WeakMap<AnySdkAgent, AnySdkAgent>();
  readonly tools = new WeakMap<AnySdkTool, AnySdkTool>();
  /** The wrapped sessions, by original session, then by the tool call that uses the session. */
  readonly sessions = new WeakMap<Session, Map<string | undefined, Session>>();
  /** By the library's id of a call: the approval at which a loop of the run stopped. */
  readonly approvals = new Map<string, RunToolApprovalItem>();
  /** The error of a replay that would run tools. The error names these tools. */
  refusal: InvalidInputError | undefined;
  /** By tool call: the turns of its agent runs, whose requests are identified by their order. */
  readonly turns = new KeyedMutex();

  /**
   * @param isFinished whether the run has ended, so that its records are only replayed
   * @param executesNothing whether the run is compared with its records, so that no tool may run
   */
  constructor(
    readonly loop: HostedLoop,
    readonly knownTools: KnownTools,
    readonly isFinished: boolean,
    readonly executesNothing: boolean,
    /** Returns whether a rollback has returned the run to an earlier point. */
    readonly isReopened: () => Promise<boolean>,
  ) {
    ({ agentId: this.agentId, runId: this.runId } = loop);
  }

  /**
   * Waits until the records of the run are durable. Returns `false` for a finished run, which has already changed the
   * session, and for a stopped run, which changes it when it is resumed.
   */
  async mayChange(): Promise<boolean> {
    const { loop } = this;
    if (this.isFinished || loop.signal.aborted || loop.failure) return false;
    await loop.durable();
    return true;
  }
}

interface CurrentCall {
  readonly run: DurableRun;
  /** The enclosing tool call, or `undefined` in the loop of the run. */
  readonly call?: string;
}

const places = new AsyncLocalStorage<CurrentCall>();

/** Returns the durable run of the current code. `undefined` if model requests of this code are not recorded. */
export function currentRun(): DurableRun | undefined {
  return places.getStore()?.run;
}

export function currentCall(): string | undefined {
  return places.getStore()?.call;
}

export function inRun<Result>(run: DurableRun, call: string | undefined, work: () => Result): Result {
  return places.run(call === undefined ? { run } : { run, call }, work);
}

/** Returns code that runs outside of the recorded loop, such as a guardrail, and that can run in any order. */
export function besideTheRun<Parameters extends readonly unknown[], Result>(
  code: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  return (...parameters) => places.exit(() => code(...parameters));
}

type Item = Extract<ModelRequest["input"], readonly unknown[]>[number];

/** Maps between the provider's ids of calls and the library's unique ids, which the SDK and tools see. */
class ProvidedIds {
  readonly #provided = new Map<string, string>();
  /** Ids of calls of earlier runs, from a session. */
  readonly #earlier = new Map<string, string>();

  /** For calls that the provider executes: the library's id, by the id that the SDK sees. */
  readonly #hosted = new Map<string, string>();

  /** Stores the ids of a response, and returns the response for the SDK. */
  noted(given: GivenHostedResponse): ModelResponse {
    for (const part of partsOfType(given.message, "tool-call")) {
      const { toolCallId, providerToolCallId = toolCallId } = part;
      if (isHostedCall(part)) this.#hosted.set(providerToolCallId, toolCallId);
      else this.#provided.set(toolCallId, providerToolCallId);
    }
    return responseOf(given);
  }

  learn(ids: readonly (readonly [call: string, provided: string])[]): void {
    for (const [call, provided] of ids) this.#earlier.set(call, provided);
  }

  /** Returns the provider's id of a call. `undefined` if both ids are equal. */
  providedOf(callId: string): string | undefined {
    return this.#provided.get(callId) ?? this.#earlier.get(callId);
  }

  has(toolCallId: string): boolean {
    return this.#provided.has(toolCallId);
  }

  /** Returns the library's id of a call that waits for approval. `undefined` if no recorded response has the call. */
  ofApproval(call: RunToolApprovalItem["rawItem"]): string | undefined {
    if (call.type === "hosted_tool_call") return this.#hosted.get(String(call.providerData?.["id"] ?? call.id));
    return "callId" in call && this.has(call.callId) ? call.callId : undefined;
  }

  /** Returns a request with the provider's ids. Unknown calls keep their ids. */
  provided(request: ModelRequest): ModelRequest {
    const { input } = request;
    return typeof input === "string" ? request : { ...request, input: this.providedItems(input) };
  }

  /** Returns items with the provider's ids. Unknown calls keep their ids. */
  providedItems(items: readonly Item[]): Item[] {
    return items.map((item) => this.#item(item));
  }

  #item(item: Item): Item {
    if (item.type !== "function_call" && item.type !== "function_call_result") return item;
    const callId = this.providedOf(item.callId);
    return callId === undefined ? item : { ...item, callId };
  }
}
