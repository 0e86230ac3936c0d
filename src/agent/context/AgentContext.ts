import type { AssistantMessage, Message, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { FeatureKey } from "./FeatureKey.ts";
import type { InputRequest } from "./InputRequest.ts";
import type { StorageKey } from "./StorageKey.ts";
import type { ToolRef } from "./ToolRef.ts";

/**
 * What a node, and a tool it calls, may do. It belongs to one visit of one node: when the run moves elsewhere, every
 * use of it throws ExecutionMovedError.
 */
export interface AgentContext {
  readonly agentId: string;
  readonly runId: string;
  /** The path of the node, such as "facts/count". */
  readonly nodeId: string;
  /** Aborted when the run is aborted or moves elsewhere. */
  readonly signal: AbortSignal;
  /** The message history of the run, and the model that reads it. */
  readonly llm: AgentLlm;
  /** Calls tools, so that each call is recorded; not the set of tools that the model may call. */
  readonly tools: AgentTools;
  /** Values that live as long as the run. */
  readonly storage: AgentStorage;
  /** @param percent 0 to 100. @param summary one line for people; absent: none. */
  setProgress(percent: number, summary?: string): void;
  /** Adds to the `decisions` of the checkpoints that follow. */
  recordDecision(decision: Decision): void;
  /** Adds to what a later resume needs: files by path, and for each name of the environment what it must be. */
  require(needs: Requirements): void;
  /**
   * Asks somebody outside the run: a person, or a system that calls back. Without an answer the run ends as `waiting` once
   * nothing else of the node goes on, and this promise is left as it is. When the answer is there and the run is resumed,
   * the node runs again from its start with everything that it did before given back, and this resolves. Await it.
   *
   * @throws FeatureNotInstalledError without a feature that keeps requests.
   * @throws DuplicateNameError for an id that this visit of the node has used.
   * @throws RequestNotOpenError when nobody answered in time.
   * @throws WaitingNotSupportedError on a storage that keeps no requests.
   */
  requestInput<Answer>(request: InputRequest<Answer>): Promise<Answer>;
  /** @throws FeatureNotInstalledError when the agent does not have it. */
  feature<Instance>(feature: FeatureKey<Instance>): Instance;
}

/** The message history, and the model that reads it. */
export interface AgentLlm {
  /** A frozen picture of the history. */
  readonly messages: readonly Message[];
  /** Adds to the end of the history. @throws InvalidInputError for what is no message; then nothing is added. */
  append(...messages: readonly Message[]): void;
  /** Replaces the history by what `change` makes of it. */
  rewrite(change: (messages: readonly Message[]) => readonly Message[]): void;
  /** Sets model, parameters or tool set for the rest of the run; kept by the checkpoint. @throws UnknownToolError for a tool the agent does not have. */
  configure(settings: {
    readonly model?: string | undefined;
    readonly parameters?: Readonly<Record<string, unknown>> | undefined;
    readonly tools?: readonly ToolRef[] | undefined;
  }): void;
  /** Asks the model; the answer is not appended. `tools` and `model` hold for this request only. */
  request(options?: {
    readonly tools?: readonly ToolRef[] | undefined;
    readonly model?: string | undefined;
  }): Promise<AssistantMessage>;
}

/** Tool calls. Both are journaled by persistence: a call finished before a crash is not run again. */
export interface AgentTools {
  /** Calls a tool from node code. @throws ToolFailedError with what the tool threw as its cause. */
  call<Arguments, Output>(tool: ToolRef<Arguments, Output>, input: NoInfer<Arguments>): Promise<Output>;
  /** Runs what the model asked for, all calls at once; a call that fails becomes a result with `isError`. Nothing is appended. */
  execute(message: AssistantMessage): Promise<ToolMessage>;
}

/** Typed values that live as long as the run; each checkpoint has them. */
export interface AgentStorage {
  /** `undefined`: never set, or deleted. Plain objects and arrays are frozen; dates, maps, sets and bytes are copies. */
  get<Value>(key: StorageKey<Value>): Value | undefined;
  /** Stores a copy. @throws InvalidInputError when the schema refuses the value. */
  set<Value>(key: StorageKey<Value>, value: NoInfer<Value>): void;
  delete(key: Pick<StorageKey<unknown>, "name">): void;
}

/** Something the agent decided, for those who read its checkpoints. */
export interface Decision {
  readonly decision: string;
  readonly reason?: string | undefined;
}

/** What must be there when the run is resumed. */
export interface Requirements {
  /** Paths. */
  readonly files?: readonly string[] | undefined;
  /** Name to what it must be, such as `{ node: ">=20.19", "env:DATABASE_URL": "*" }`. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}
