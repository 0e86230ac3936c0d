import type { AssistantMessage, Message, ToolMessage } from "../../checkpoint/messages/Message.ts";
import type { InputRequest, ReceiveOptions } from "./InputRequest.ts";
import type { StorageKey } from "./StorageKey.ts";

/** The API for nodes and tools. After a move of the run, every use of a context throws ExecutionMovedError. */
export interface AgentContext {
  readonly agentId: string;
  readonly runId: string;
  /** The path of the node, such as "facts/count". */
  readonly nodeId: string;
  /** Aborted when the run is aborted or moves. */
  readonly signal: AbortSignal;
  readonly llm: AgentLlm;
  /** Calls and records tools. To set the tools that the model can call, use `llm.configure`. */
  readonly tools: AgentTools;
  readonly storage: AgentStorage;
  /** Sets the progress of the run. @param percent 0 to 100. @param summary One line. @throws InvalidInputError */
  setProgress(percent: number, summary?: string): void;
  /** Adds a decision to the next checkpoint of the run. @throws InvalidInputError */
  recordDecision(decision: Decision): void;
  /** Adds files and values that a later resume requires. A rejected call adds nothing. @throws InvalidInputError */
  require(needs: Requirements): void;
  /**
   * Requests input from a person or an external system. Await the returned promise. If the input is still missing after
   * all other work of the node has settled, the run ends as `waiting`, and the promise never settles. After the request
   * is answered and the run is resumed, the node runs again from its start. Recorded calls return their recorded
   * results, and the promise of the repeated request resolves to the answer.
   *
   * @example
   * ```ts
   * const approval = await context.requestInput({
   *   prompt: "Refund order 7?",
   *   schema: z.object({ approved: z.boolean() }),
   *   waitingFor: "human_approval",
   * });
   * ```
   * @throws InvalidInputError for a wrong request.
   * @throws FeatureNotInstalledError if no installed feature stores requests.
   * @throws DuplicateNameError if this execution of the node has already used the id.
   * @throws RequestNotOpenError if the request expired without an answer.
   * @throws WaitingNotSupportedError if the storage cannot store requests.
   */
  requestInput<Answer>(request: InputRequest<Answer>): Promise<Answer>;
  /**
   * Resolves after `ms` milliseconds. Await the returned promise. With Persistence, the end time of the sleep is
   * recorded once, so a crash or a restart does not prolong the sleep. If more than `sleepInProcessMs` are left when
   * all other work of the node has settled, the run ends as `waiting`, like after {@link requestInput}. A resume after
   * the end time runs the node again from its start, and the promise resolves. Without Persistence, the process waits.
   *
   * When a node or a tool call runs again, its sleeps are matched by their number. The first recorded end time counts,
   * even if the repeated code passes another duration.
   *
   * @example
   * ```ts
   * await context.sleep(60 * 60 * 1_000);
   * ```
   * @throws InvalidInputError
   * @throws WaitingNotSupportedError for a long sleep, if the storage cannot store requests.
   */
  sleep(ms: number): Promise<void>;
  /**
   * Like {@link sleep}, until a date of the system clock. Resolves immediately if the date is in the past.
   *
   * @throws InvalidInputError
   * @throws WaitingNotSupportedError for a long sleep, if the storage cannot store requests.
   */
  sleepUntil(date: Date): Promise<void>;
  /**
   * Receives the oldest event of this name that no other call has received, even if it arrived before this call. Events
   * are sent by `persistence(agent).agent(id).send`. Await the returned promise. If no event arrives within
   * `sleepInProcessMs` after all other work of the node has settled, the run ends as `waiting`, like after {@link
   * requestInput}. After `send`, a resume runs the node again from its start, and the promise resolves.
   *
   * When a node or a tool call runs again, its calls of `receive` are matched by event name and number.
   *
   * @example
   * ```ts
   * const paid = await context.receive("paid", { schema: z.object({ cents: z.int() }), timeoutMs: 86_400_000 });
   * if (!paid) return "The customer did not pay in time.";
   * ```
   * @returns the payload, or `undefined` if no event arrived within `timeoutMs`.
   * @throws InvalidInputError for a wrong argument, or if the schema rejects the payload.
   * @throws FeatureNotInstalledError if no installed feature keeps events.
   * @throws WaitingNotSupportedError if the storage cannot store events.
   * @throws RequestRejectedError if a person rejected the request.
   */
  receive<Payload>(
    name: string,
    options: ReceiveOptions<Payload> & { readonly timeoutMs?: undefined },
  ): Promise<Payload>;
  receive<Payload>(name: string, options: ReceiveOptions<Payload>): Promise<Payload | undefined>;
  /** Returns the instance of an installed feature. @throws FeatureNotInstalledError if the feature is not installed. */
  feature<Instance>(feature: FeatureKey<Instance>): Instance;
}

/** The message history and the model. */
export interface AgentLlm {
  /** The history as a frozen snapshot. Change messages, even their dates or bytes, with {@link AgentLlm.rewrite}. */
  readonly messages: readonly Message[];
  /**
   * Appends messages to the history.
   *
   * @throws InvalidInputError for a wrong message. In that case, no message is appended.
   */
  append(...messages: readonly Message[]): void;
  /**
   * Replaces the history with the messages that `change` returns.
   *
   * @throws InvalidInputError for a wrong message, or if `change` returns no array.
   */
  rewrite(change: (messages: readonly Message[]) => readonly Message[]): void;
  /**
   * Sets the model, the model parameters or the tools for the rest of the run. Checkpoints store these settings.
   *
   * @throws InvalidInputError
   * @throws UnknownToolError if the agent does not have a tool.
   */
  configure(settings: {
    readonly model?: string | undefined;
    readonly parameters?: Readonly<Record<string, unknown>> | undefined;
    readonly tools?: readonly ToolRef[] | undefined;
  }): void;
  /**
   * Calls the model without appending the response. The options apply only to this request.
   *
   * @throws like {@link configure}
   */
  request(options?: {
    readonly tools?: readonly ToolRef[] | undefined;
    readonly model?: string | undefined;
  }): Promise<AssistantMessage>;
}

/** Makes tool calls. Persistence records the calls, so a call that finished before a crash does not run again. */
export interface AgentTools {
  /** Calls a tool from node code. @throws ToolFailedError if the tool throws, with its error as `cause`. */
  call<Arguments, Output>(tool: ToolRef<Arguments, Output>, input: NoInfer<Arguments>): Promise<Output>;
  /** Runs the tool calls of a message concurrently, without appending the results. A failure gives `isError: true`. */
  execute(message: AssistantMessage): Promise<ToolMessage>;
}

/** The typed values of one run. Each checkpoint stores them. */
export interface AgentStorage {
  /** Returns the value of a key, or `undefined`. Plain objects and arrays are frozen, other objects are copies. */
  get<Value>(key: StorageKey<Value>): Value | undefined;
  /** Stores a copy of the value. @throws InvalidInputError if the schema rejects the value. */
  set<Value>(key: StorageKey<Value>, value: NoInfer<Value>): void;
  delete(key: Pick<StorageKey<unknown>, "name">): void;
}

/** A decision of the agent, shown to readers of its checkpoints. */
export interface Decision {
  readonly decision: string;
  readonly reason?: string | undefined;
}

/** Files and values that a resume requires. They are checked before the run is resumed. */
export interface Requirements {
  /** Absolute paths, or paths relative to the working directory. */
  readonly files?: readonly string[] | undefined;
  /** The required value of each name, such as `{ node: ">=20.19", "env:DATABASE_URL": "*" }`. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

export interface FeatureKey<out Instance> {
  readonly key: string;
  install(pipeline: never, config: never): Instance;
}

/** A property key that exists only in the types and infers the arguments of a tool. */
export declare const argumentsOf: unique symbol;

export interface ToolRef<in Arguments = never, out Output = unknown> {
  readonly name: string;
  readonly execute: (input: never, options: never) => Output | PromiseLike<Output>;
  readonly [argumentsOf]: (input: Arguments) => void;
}

/**
 * The context of `merge`, which joins the branches of a parallel node. Its history and settings are the same as before
 * the branches. Its storage contains the changes of all branches. If two branches changed a key differently, `merge`
 * must set or delete the key, because otherwise the run fails.
 */
export interface MergeContext<Branches> extends AgentContext {
  /** The finished branches by name, or for `graph.each` in the order of the items. */
  readonly branches: Branches;
}

export interface BranchOf<Output> {
  readonly output: Output;
  readonly messages: readonly Message[];
  /** The storage at the end of the branch. */
  readonly storage: Pick<AgentStorage, "get">;
  /** Makes the history, settings and storage of this branch those of the run, as if no other branch ran. */
  adopt(): void;
}
