import { quoted } from "../../errors/AgentPersistenceError.ts";
import { DuplicateNameError } from "../../errors/strategyErrors.ts";
import { copyWith } from "../../internal/copyWith.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { objectWithMethods, plainObject } from "../../internal/options/optionSchemas.ts";
import { EventQueue } from "../hosted/EventQueue.ts";
import type { HostedLoop, HostedCall, PerformOptions } from "../hosted/HostedLoop.ts";
import {
  type HostedTool,
  hostedTool,
  type HostedToolSettings,
  hostedToolSettingsSchema,
} from "../hosted/HostedTool.ts";
import { DurableModel } from "./model/DurableModel.ts";
import type { ProviderModel } from "../ai-sdk/AiSdkLanguageModel.ts";
import { isSchema } from "../../redaction/secret.ts";
import type { Redactor } from "../../redaction/redaction.ts";
import type { AnyTool, ToolCode } from "../../agent/tool/Tool.ts";
import { ModelNotAvailableError } from "../../errors/modelErrors.ts";
import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";

/** Tools of the AI SDK, by name. */
export type AiSdkTools = Readonly<Record<string, object>>;

/** The `execute` function of a tool, or `never` if the client or the provider executes it. */
type ExecuteOf<Tool> = Tool extends { readonly execute?: infer Execute } ? NonNullable<Execute> : never;

type InputOf<Tool> = [ExecuteOf<Tool>] extends [(input: infer Input, options: never) => unknown] ? Input : unknown;

type OutputOf<Tool> = [ExecuteOf<Tool>] extends [(input: never, options: never) => infer Output]
  ? Settled<Output>
  : unknown;

type Settled<Output> =
  Extract<Output, AsyncIterable<unknown>> extends AsyncIterable<infer Item>
    ? [Extract<Output, AsyncIterable<unknown>>] extends [never]
      ? Awaited<Output>
      : Awaited<Exclude<Output, AsyncIterable<unknown>>> | Item
    : Awaited<Output>;

/** Settings of tools, by name. */
export type AiSdkToolsSettings<Tools> = {
  readonly [Name in keyof Tools]?: HostedToolSettings<InputOf<Tools[Name]>, OutputOf<Tools[Name]>> | undefined;
};

/** Wraps the models and tools of one run. */
export interface Durable {
  /** The id of the durable agent. Throws a TypeError while `durableAgent` creates the definition outside of a run. */
  readonly agentId: string;
  /** `true` once the run has called a model or a tool. `false` during a replay, when callbacks run as well. */
  readonly live: boolean;
  /** Aborts when the run is cancelled or aborted, or when another process takes over the agent. */
  readonly signal: AbortSignal;
  /**
   * Returns a model whose responses are recorded. Wrap every model, also of sub-agents and of `prepareStep`.
   *
   * @param model a model of the AI SDK 6 or 7, or a model name for the global provider
   */
  readonly model: <Model extends string | object>(model: Model) => Model;
  /**
   * Returns tools whose calls are recorded. A call that has finished is never repeated. Keeps tools without `execute`.
   *
   * @param settings by tool name. Calls of tools without settings count as irreversible.
   * @throws InvalidInputError for settings of an unknown tool
   * @throws DuplicateNameError for two tools with the same name and different settings
   */
  readonly tools: <Tools extends AiSdkTools>(tools: Tools, settings?: AiSdkToolsSettings<NoInfer<Tools>>) => Tools;
}

const modelSchema = objectWithMethods<ProviderModel>("doGenerate", "doStream");

/** Creates the wrappers of {@link Durable}. Without a loop, only collects the tools of a definition. */
export class DurableDefinition {
  readonly #loop: HostedLoop | undefined;
  readonly #redact: Redactor | undefined;
  readonly #hosted = new Map<string, HostedTool>();
  readonly #recorded = new WeakSet<object>();
  #hasModel = false;

  /** @param redact - redacts the fields that `secret()` marks in the input schemas of tools. */
  constructor(loop?: HostedLoop, redact?: Redactor) {
    this.#loop = loop;
    this.#redact = redact;
  }

  get hasModel(): boolean {
    return this.#hasModel;
  }

  get hostedTools(): readonly HostedTool[] {
    return [...this.#hosted.values()];
  }

  /** @throws TypeError outside a run. */
  get loop(): HostedLoop {
    if (!this.#loop)
      throw new TypeError(
        "This model or tool was used outside a run. Call the agent that durableAgent(…).for(agentId) returns.",
      );
    return this.#loop;
  }

  /** An object without `this`, because users may destructure it. */
  get handle(): Durable {
    const known = <Name extends "agentId" | "live" | "signal">(name: Name): HostedLoop[Name] => {
      if (this.#loop) return this.#loop[name];
      throw new TypeError(
        `durable.${name} is unknown while durableAgent(…) creates its definition. Read it in a tool or a callback, such as prepareStep.`,
      );
    };
    return {
      model: (model) => this.model(model),
      tools: (tools, settings) => this.tools(tools, settings),
      get agentId() {
        return known("agentId");
      },
      get live() {
        return known("live");
      },
      get signal() {
        return known("signal");
      },
    };
  }

  model<Model extends string | object>(model: Model): Model {
    this.#hasModel = true;
    if (typeof model !== "string") checkSchema(modelSchema, model, "model of durable.model()");
    const wrapped = typeof model === "string" ? globalModel(model) : (model as unknown as ProviderModel);
    // `DurableModel` has only the members that the AI SDK calls.
    return new DurableModel(wrapped, this) as unknown as Model;
  }

  tools<Tools extends AiSdkTools>(tools: Tools, settings: AiSdkToolsSettings<NoInfer<Tools>> = {}): Tools {
    const names = Object.keys(tools);
    const shape = Object.fromEntries(names.map((name) => [name, hostedToolSettingsSchema.optional()]));
    checkSchema(plainObject, settings, "settings of durable.tools()");
    // Without a prototype, a tool named `constructor` does not match an inherited property.
    const own: AiSdkToolsSettings<Tools> = { __proto__: null, ...settings };
    checkSchema(
      strictOptions(() => shape),
      own,
      "settings of durable.tools()",
    );
    const wrapped = names.map((name) => {
      const hosted = this.#named(name, own[name]);
      this.#redactInputsOf(hosted, tools[name]);
      const tool = durableTool(tools[name] ?? {}, hosted, this);
      const execute = executeOf(tool);
      if (execute) this.#recorded.add(execute);
      return [name, tool];
    });
    return Object.fromEntries(wrapped) as Tools;
  }

  #redactInputsOf({ tool }: HostedTool, given: object | undefined): void {
    const { inputSchema } = Object(given) as { readonly inputSchema?: unknown };
    if (!isSchema(inputSchema)) return;
    const declared = { ...tool, inputSchema: inputSchema as AnyTool["inputSchema"] };
    this.#redact?.apply({}, { tools: new Map([[tool.name, declared]]) });
  }

  /** Returns the names of tools whose calls would not be recorded. A tool without `execute` runs elsewhere. */
  unrecorded(tools: object): readonly string[] {
    const isRecorded = (tool: unknown): boolean => {
      const execute = executeOf(tool);
      return execute === undefined || this.#recorded.has(execute);
    };
    return Object.entries(tools).flatMap(([name, tool]) => (isRecorded(tool) ? [] : [name]));
  }

  #named(name: string, settings: HostedToolSettings = {}): HostedTool {
    const known = this.#hosted.get(name);
    if (known && !isSame(known.settings, settings)) throw new DuplicateNameError("duplicate_tool", name);
    const tool = known ?? hostedTool(name, settings, codeOf(name));
    this.#hosted.set(name, tool);
    return tool;
  }
}

function executeOf(tool: unknown): Execute | undefined {
  const { execute } = Object(tool) as { readonly execute?: unknown };
  return typeof execute === "function" ? (execute as Execute) : undefined;
}

function codeOf(name: string): ToolCode {
  return {
    declaration: `durable.tools(tools, { ${quoted(name)}: { effect: "idempotent" } })`,
    settling: (agentId, toolCallId) => `desk.agent(${quoted(agentId)}).settleToolCall(${quoted(toolCallId)}, `,
  };
}

function isSame(a: HostedToolSettings, b: HostedToolSettings): boolean {
  // Compares only whether functions are given, because a sub-agent that is created for each call has new functions.
  return a.effect === b.effect && !a.rollback === !b.rollback && !a.probe === !b.probe;
}

interface GlobalProvider {
  languageModel(modelId: string): ProviderModel;
}

/** Returns a model by name from the global default provider of the AI SDK. @throws ModelNotAvailableError */
function globalModel(modelId: string): ProviderModel {
  const { AI_SDK_DEFAULT_PROVIDER: provider } = globalThis as { readonly AI_SDK_DEFAULT_PROVIDER?: GlobalProvider };
  if (!provider)
    throw new ModelNotAvailableError(
      modelId,
      `the AI SDK has no default provider for model names; pass the model itself, such as gateway("${modelId}"), or set AI_SDK_DEFAULT_PROVIDER`,
    );
  return provider.languageModel(modelId);
}

interface ExecuteOptions {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

type Execute = (input: unknown, options: ExecuteOptions) => unknown;

/** Returns a tool whose calls are recorded. Tools without `execute` are returned unchanged. */
function durableTool(tool: object, hosted: HostedTool, run: { readonly loop: HostedLoop }): object {
  const execute = executeOf(tool);
  if (!execute) return tool;
  const own = execute.bind(tool);
  return withExecute(tool, isGenerator(execute) ? streaming(own, hosted, run) : settling(own, hosted, run));
}

/** Returns a copy of a tool with another `execute`. Methods of the tool's class keep the original as `this`. */
function withExecute(tool: object, execute: Execute): object {
  const get = (own: object, key: PropertyKey): unknown => {
    if (Object.hasOwn(own, key)) return Reflect.get(own, key);
    const value: unknown = Reflect.get(tool, key);
    return typeof value === "function" ? value.bind(tool) : value;
  };
  return new Proxy(copyWith(tool, { execute }), { get });
}

function settling(execute: Execute, tool: HostedTool, run: { readonly loop: HostedLoop }): Execute {
  return (input, options) =>
    called(run.loop, options, {
      tool,
      input,
      perform: async (given) =>
        lastOf(await execute(input, { ...options, ...given, abortSignal: either(options, given) })),
    });
}

/** Forwards preliminary results while the tool runs. Records only the last result. */
function streaming(execute: Execute, tool: HostedTool, run: { readonly loop: HostedLoop }): Execute {
  return async function* preliminary(input, options) {
    const shown = new EventQueue<unknown>();
    const perform = async (given: PerformOptions): Promise<unknown> => {
      let last: unknown;
      const results = execute(input, { ...options, ...given, abortSignal: either(options, given) });
      for await (const result of results as AsyncIterable<unknown>) {
        last = result;
        shown.push(result);
      }
      return last;
    };
    const output = called(run.loop, options, { tool, input, perform });
    output.then(
      () => shown.end(),
      (error: unknown) => shown.fail(error),
    );
    let isReplayed = true;
    for await (const result of shown) {
      isReplayed = false;
      yield result;
    }
    if (isReplayed) yield await output;
  };
}

/** Rethrows errors of the tool, which the AI SDK sends to the model. Any other error ends the run. */
async function called(loop: HostedLoop, { toolCallId }: ExecuteOptions, call: HostedCall): Promise<unknown> {
  try {
    return await loop.call(toolCallId, call);
  } catch (error) {
    if (error instanceof ToolFailedError) throw thrownBy(error);
    if (error instanceof ToolOutcomeUnknownError) throw new Error(error.reason);
    throw error;
  }
}

/** Returns the original error of the tool, or an error that is restored from the record. */
function thrownBy({ cause, reason, errorName }: ToolFailedError): unknown {
  if (cause !== undefined) return cause;
  return Object.assign(new Error(reason), errorName !== undefined && { name: errorName });
}

function either({ abortSignal: theirs }: ExecuteOptions, { abortSignal: ours }: PerformOptions): AbortSignal {
  return theirs ? AbortSignal.any([theirs, ours]) : ours;
}

async function lastOf(result: unknown): Promise<unknown> {
  if (typeof (Object(result) as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] !== "function") return result;
  let last: unknown;
  for await (const item of result as AsyncIterable<unknown>) last = item;
  return last;
}

/** The AI SDK must know whether a tool yields preliminary results before it calls the tool. */
function isGenerator(execute: Execute): boolean {
  return Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
}
