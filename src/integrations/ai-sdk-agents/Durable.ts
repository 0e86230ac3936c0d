import { DuplicateNameError } from "../../errors/agent/DuplicateNameError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { objectWithMethods, plainObject } from "../../internal/options/optionSchemas.ts";
import type { HostedLoop } from "../hosted/HostedLoop.ts";
import {
  type HostedTool,
  hostedTool,
  type HostedToolSettings,
  hostedToolSettingsSchema,
} from "../hosted/HostedTool.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { DurableModel } from "./model/DurableModel.ts";
import { durableTool } from "./durableTool.ts";
import { globalModel } from "./model/globalModel.ts";
import type { ProviderModel } from "./model/ProviderModel.ts";
import type { AiSdkTools, AiSdkToolsSettings } from "./ToolSettings.ts";

/** Wraps what an agent of the AI SDK, or a call of `generateText`, is made of. It belongs to one run. */
export interface Durable {
  /** The durable identity. Only in a run: in the first call of a definition, which has none, reading it throws a TypeError. */
  readonly agentId: string;
  /**
   * True once the run has asked a model or called a tool; false while it only repeats what is recorded. Callbacks are called
   * in both cases.
   */
  readonly live: boolean;
  /** Aborted when the run is cancelled or aborted, and when another process takes the agent over. */
  readonly signal: AbortSignal;
  /**
   * A model whose answers are recorded. Wrap every model of the run: also that of a sub-agent in a tool, and those that
   * `prepareStep` returns.
   *
   * @param model a model of the AI SDK 6 or 7, or the name of one at the global provider.
   */
  readonly model: <Model extends string | object>(model: Model) => Model;
  /**
   * Tools whose calls are recorded: one that has ended is not made again. Tools without `execute` stay as they are.
   *
   * @param settings by the names of the tools. Absent: a call counts as irreversible.
   * @throws InvalidInputError for a setting of a tool that is not there; DuplicateNameError for two tools of one name with
   * settings that differ.
   */
  readonly tools: <Tools extends AiSdkTools>(tools: Tools, settings?: AiSdkToolsSettings<NoInfer<Tools>>) => Tools;
}

const modelSchema = objectWithMethods<ProviderModel>("doGenerate", "doStream");

/** What {@link Durable} wraps for one run, or for none: then it only collects the tools of a definition. */
export class DurableDefinition {
  readonly #loop: HostedLoop | undefined;
  readonly #hosted = new Map<string, HostedTool>();

  constructor(loop?: HostedLoop) {
    this.#loop = loop;
  }

  /** The tools that were wrapped so far. */
  get hostedTools(): readonly HostedTool[] {
    return [...this.#hosted.values()];
  }

  /** @throws TypeError outside a run. */
  get loop(): HostedLoop {
    if (!this.#loop)
      throw new TypeError(
        "This model or tool belongs to no run. Call the agent that durableAgent(…).for(agentId) returns.",
      );
    return this.#loop;
  }

  /** What the code of a user gets. */
  get handle(): Durable {
    return new DurableHandle(this);
  }

  model<Model extends string | object>(model: Model): Model {
    if (typeof model !== "string") checkSchema(modelSchema, model, "model of durable.model()");
    const wrapped = typeof model === "string" ? globalModel(model) : (model as unknown as ProviderModel);
    // It has what every model has; what else an implementation has nobody asks a model for.
    return new DurableModel(wrapped, this) as unknown as Model;
  }

  tools<Tools extends AiSdkTools>(tools: Tools, settings: AiSdkToolsSettings<NoInfer<Tools>> = {}): Tools {
    const names = Object.keys(tools);
    const shape = Object.fromEntries(names.map((name) => [name, hostedToolSettingsSchema.optional()]));
    checkSchema(plainObject, settings, "settings of durable.tools()");
    // A tool may be called `constructor`, as a field that every object inherits is.
    const own: AiSdkToolsSettings<Tools> = { __proto__: null, ...settings };
    checkSchema(strictOptions(shape), own, "settings of durable.tools()");
    const wrapped = names.map((name) => {
      const hosted = this.#named(name, own[name]);
      return [name, durableTool(tools[name] ?? {}, hosted, this)];
    });
    return Object.fromEntries(wrapped) as Tools;
  }

  #named(name: string, settings: HostedToolSettings = {}): HostedTool {
    const known = this.#hosted.get(name);
    if (known && !isSame(known.settings, settings)) throw new DuplicateNameError("duplicate_tool", name);
    const tool = known ?? hostedTool(name, settings);
    this.#hosted.set(name, tool);
    return tool;
  }
}

/** Its functions may be taken out of it. */
class DurableHandle implements Durable {
  readonly #definition: DurableDefinition;
  readonly model: Durable["model"] = (model) => this.#definition.model(model);
  readonly tools: Durable["tools"] = (tools, settings) => this.#definition.tools(tools, settings);

  constructor(definition: DurableDefinition) {
    this.#definition = definition;
  }

  get agentId(): string {
    return this.#definition.loop.agentId;
  }
  get live(): boolean {
    return this.#definition.loop.live;
  }
  get signal(): AbortSignal {
    return this.#definition.loop.signal;
  }
}

function isSame(a: HostedToolSettings, b: HostedToolSettings): boolean {
  // A sub-agent that is made anew for each call has functions of its own each time.
  return a.effect === b.effect && !a.rollback === !b.rollback && !a.probe === !b.probe;
}
