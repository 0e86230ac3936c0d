import { DuplicateNameError } from "../../errors/strategyErrors.ts";
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

/** Wraps the models and tools of one run. */
export interface Durable {
  /**
   * The id of the durable agent. `durableAgent` calls the definition once without a run. Reading the id then throws a
   * TypeError.
   */
  readonly agentId: string;
  /**
   * `true` once the run has called a model or a tool, `false` while it replays records. The AI SDK invokes callbacks in
   * both cases.
   */
  readonly live: boolean;
  /** Aborts when the run is cancelled or aborted, or when another process takes over the agent. */
  readonly signal: AbortSignal;
  /**
   * Returns a model whose responses are recorded. Wrap every model of the run, including the models of sub-agents and
   * those that `prepareStep` returns.
   *
   * @param model a model of the AI SDK 6 or 7, or a model name for the global provider
   */
  readonly model: <Model extends string | object>(model: Model) => Model;
  /**
   * Returns tools whose calls are recorded. A call that has finished is never repeated. Tools without `execute` are
   * returned unchanged.
   *
   * @param settings by tool name. Calls of tools without settings count as irreversible.
   * @throws InvalidInputError for settings of an unknown tool
   * @throws DuplicateNameError for two tools with the same name and different settings
   */
  readonly tools: <Tools extends AiSdkTools>(tools: Tools, settings?: AiSdkToolsSettings<NoInfer<Tools>>) => Tools;
}

const modelSchema = objectWithMethods<ProviderModel>("doGenerate", "doStream");

/** Creates the wrappers of {@link Durable}. Without a loop it only collects the tools of a definition. */
export class DurableDefinition {
  readonly #loop: HostedLoop | undefined;
  readonly #hosted = new Map<string, HostedTool>();

  constructor(loop?: HostedLoop) {
    this.#loop = loop;
  }

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

  get handle(): Durable {
    return new DurableHandle(this);
  }

  model<Model extends string | object>(model: Model): Model {
    if (typeof model !== "string") checkSchema(modelSchema, model, "model of durable.model()");
    const wrapped = typeof model === "string" ? globalModel(model) : (model as unknown as ProviderModel);
    // DurableModel implements only the members that the AI SDK calls.
    return new DurableModel(wrapped, this) as unknown as Model;
  }

  tools<Tools extends AiSdkTools>(tools: Tools, settings: AiSdkToolsSettings<NoInfer<Tools>> = {}): Tools {
    const names = Object.keys(tools);
    const shape = Object.fromEntries(names.map((name) => [name, hostedToolSettingsSchema.optional()]));
    checkSchema(plainObject, settings, "settings of durable.tools()");
    // Prevents a tool named `constructor` from matching the inherited property.
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

/** Keeps `model` and `tools` bound, so that users may destructure the handle. */
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
  // Compares presence only, because a sub-agent that is created for each call has new functions each time.
  return a.effect === b.effect && !a.rollback === !b.rollback && !a.probe === !b.probe;
}
