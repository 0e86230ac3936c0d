import type { AssistantMessage, Message, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { InputRequest } from "./InputRequest.ts";
import type { StorageKey } from "./StorageKey.ts";

/**
 * What a node, or a tool that it calls, can do. A context belongs to one visit of one node. After the run has moved, every
 * use of the context throws ExecutionMovedError.
 */
export interface AgentContext {
  readonly agentId: string;
  readonly runId: string;
  /** The path of the node, such as "facts/count". */
  readonly nodeId: string;
  /** Aborted when the run is aborted or moves. */
  readonly signal: AbortSignal;
  /** The message history of the run, and the model. */
  readonly llm: AgentLlm;
  /** Calls tools and records the calls. The tools that the model may call are set by `llm.configure`. */
  readonly tools: AgentTools;
  /** Typed values of the run. */
  readonly storage: AgentStorage;
  /** @param percent 0 to 100. @param summary one line for people. Absent: none. @throws InvalidInputError */
  setProgress(percent: number, summary?: string): void;
  /** Adds a decision to the next checkpoints. @throws InvalidInputError */
  recordDecision(decision: Decision): void;
  /** Adds files and environment values that a later resume requires. @throws InvalidInputError, and then adds nothing. */
  require(needs: Requirements): void;
  /**
   * Asks a person, or a system that calls back, for input. Await it. If there is no answer by the time the node's other
   * work has settled, the run ends as `waiting`, and this promise never settles. Once the request is answered and the run
   * is resumed, the node runs again from its start: its recorded calls return their recorded results, and this promise
   * resolves to the answer.
   *
   * @throws InvalidInputError for a wrong request.
   * @throws FeatureNotInstalledError without a feature that stores requests.
   * @throws DuplicateNameError for an id that this visit of the node has used.
   * @throws RequestNotOpenError if the request expired without an answer.
   * @throws WaitingNotSupportedError on a storage that stores no requests.
   */
  requestInput<Answer>(request: InputRequest<Answer>): Promise<Answer>;
  /** The instance of an installed feature. @throws FeatureNotInstalledError if it is not installed. */
  feature<Instance>(feature: FeatureKey<Instance>): Instance;
}

/** The message history, and the model. */
export interface AgentLlm {
  /** The history as a frozen snapshot. */
  readonly messages: readonly Message[];
  /** Adds messages to the end of the history. @throws InvalidInputError if one is not a message; then none is added. */
  append(...messages: readonly Message[]): void;
  /** Replaces the history by the messages that `change` returns. */
  rewrite(change: (messages: readonly Message[]) => readonly Message[]): void;
  /**
   * Sets the model, its parameters or its tools for the rest of the run. Checkpoints store them.
   *
   * @throws InvalidInputError; UnknownToolError for a tool that the agent does not have.
   */
  configure(settings: {
    readonly model?: string | undefined;
    readonly parameters?: Readonly<Record<string, unknown>> | undefined;
    readonly tools?: readonly ToolRef[] | undefined;
  }): void;
  /** Calls the model. Does not append the answer. The options apply to this request only. @throws as {@link configure}. */
  request(options?: {
    readonly tools?: readonly ToolRef[] | undefined;
    readonly model?: string | undefined;
  }): Promise<AssistantMessage>;
}

/** Tool calls. Persistence records both kinds: a call that finished before a crash does not run again. */
export interface AgentTools {
  /** Calls a tool from node code. @throws ToolFailedError whose `cause` is what the tool threw. */
  call<Arguments, Output>(tool: ToolRef<Arguments, Output>, input: NoInfer<Arguments>): Promise<Output>;
  /** Runs the tool calls of a message concurrently. A call that fails becomes a result with `isError`. Does not append the results. */
  execute(message: AssistantMessage): Promise<ToolMessage>;
}

/** Typed values of one run. Each checkpoint stores them. */
export interface AgentStorage {
  /** `undefined` if the key is not set. Plain objects and arrays are frozen; dates, maps, sets and bytes are copies. */
  get<Value>(key: StorageKey<Value>): Value | undefined;
  /** Stores a copy. @throws InvalidInputError when the schema refuses the value. */
  set<Value>(key: StorageKey<Value>, value: NoInfer<Value>): void;
  delete(key: Pick<StorageKey<unknown>, "name">): void;
}

/** A decision of the agent, for readers of its checkpoints. */
export interface Decision {
  readonly decision: string;
  readonly reason?: string | undefined;
}

/** What a resume of the run requires. */
export interface Requirements {
  /** Paths, absolute or relative to the working directory. */
  readonly files?: readonly string[] | undefined;
  /** The required value of each name, such as `{ node: ">=20.19", "env:DATABASE_URL": "*" }`. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/** The part of an `AgentFeature` by which a context finds its instance. */
export interface FeatureKey<out Instance> {
  /** Unique among the features of an agent. */
  readonly key: string;
  install(pipeline: never, config: never): Instance;
}

/** Phantom key of tools: it exists only for the compiler. */
export declare const argumentsOf: unique symbol;

/** The part of a `Tool` by which a context names it. */
export interface ToolRef<in Arguments = never, out Output = unknown> {
  /** Unique among the tools of an agent. */
  readonly name: string;
  readonly execute: (input: never, options: never) => Output | PromiseLike<Output>;
  readonly [argumentsOf]: (input: Arguments) => void;
}
