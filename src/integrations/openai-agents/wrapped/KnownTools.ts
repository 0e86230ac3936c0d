import type { ToolCode } from "../../../agent/tool/Tool.ts";
import { quoted } from "../../../errors/AgentPersistenceError.ts";
import { hostedTool, type HostedTool, type HostedToolSettings } from "../../hosted/HostedTool.ts";
import type { AnyFunctionTool, AnyComputerTool, AnyContext } from "./AnyAgent.ts";
import { type Computer, type ComputerTool, RunContext } from "@openai/agents-core";
import { originalOf } from "./originals.ts";

/** The tools of a runner whose calls are recorded. A tool without settings is added at its first call. */
export class KnownTools {
  readonly computers = new KeptComputers();
  readonly #tools: Map<string, HostedTool>;

  /** @throws InvalidInputError for an invalid tool name */
  constructor(settings: Readonly<Record<string, HostedToolSettings>>) {
    this.#tools = new Map(Object.entries(settings).map(([name, own]) => [name, hostedTool(name, own, codeOf(name))]));
  }

  get all(): readonly HostedTool[] {
    return [...this.#tools.values()];
  }

  /** Adds a tool. An agent used as a tool has the effect `none`, because its steps are recorded. */
  meet(tool: AnyFunctionTool): void {
    this.named(tool.name, isAgent(tool) ? { effect: "none" } : {});
  }

  /** @param settings the settings of a tool that is not known */
  named(name: string, settings: HostedToolSettings = {}): HostedTool {
    const found = this.#tools.get(name) ?? hostedTool(name, settings, codeOf(name));
    this.#tools.set(name, found);
    return found;
  }
}

function codeOf(name: string): ToolCode {
  return {
    declaration: `new DurableRunner({ storage, tools: { ${quoted(name)}: { effect: "idempotent" } } })`,
    settling: (agentId, toolCallId) => `runner.agent(${quoted(agentId)}).settleToolCall(${quoted(toolCallId)}, `,
  };
}

/** Returns whether `agent.asTool()` made a tool, which then has a method `on`. */
function isAgent(tool: object): boolean {
  return "on" in tool && typeof tool.on === "function";
}

type ComputerConfig = ComputerTool["computer"];
type ComputerProvider = Extract<ComputerConfig, { readonly create: unknown }>;

/** Identifies the loop that uses a computer. */
interface ComputerUser {
  readonly agentId: string;
  readonly runId: string;
  /** The tool call that runs the loop. `undefined` for the loop of the run itself. */
  readonly call: string | undefined;
}

interface Use {
  readonly runContext: AnyContext;
}

/**
 * Keeps the computers of unfinished runs. The SDK creates a computer for each loop, and a resume starts the loop again.
 * Without this class, each resume would create another computer and leave the earlier one. A loop that starts again
 * gets the results of the earlier actions, because these actions have already changed the computer.
 */
class KeptComputers {
  readonly #kept = new WeakMap<AnyComputerTool, Map<string, KeptComputer>>();

  /** Returns a tool that creates and initializes its computer once per run, and disposes it at the end of the loop. */
  keeping(tool: AnyComputerTool, user: () => ComputerUser): AnyComputerTool {
    const kept = this.#kept.get(tool) ?? new Map<string, KeptComputer>();
    this.#kept.set(tool, kept);
    const create = async (use: Use): Promise<Computer> => {
      const { runId } = user();
      const place = placeOf(user());
      const known = kept.get(place);
      if (known?.runId === runId) return known.forLoop();
      const made = new KeptComputer(runId, tool.computer as ComputerConfig, use);
      kept.set(place, made);
      // An abandoned run of the agent left this computer.
      await known?.dispose(use).catch(() => {});
      return made.forLoop().catch((error: unknown) => {
        if (kept.get(place) === made) kept.delete(place);
        throw error;
      });
    };
    const dispose = async (use: Use): Promise<void> => {
      const place = placeOf(user());
      const known = kept.get(place);
      kept.delete(place);
      await known?.dispose(use);
    };
    const { customDataExtractor: extract } = tool;
    return {
      ...tool,
      computer: { create, dispose },
      ...(extract && {
        customDataExtractor: (context) => extract({ ...context, tool: originalOf(context.tool) }),
      }),
    };
  }
}

function placeOf({ agentId, call }: ComputerUser): string {
  return JSON.stringify([agentId, call]);
}

/** The methods of a computer that are actions. All other members are used unchanged. */
const actions: ReadonlySet<string | symbol> = new Set([
  "screenshot",
  "click",
  "doubleClick",
  "scroll",
  "type",
  "wait",
  "move",
  "keypress",
  "drag",
]);

interface MadeAction {
  /** The name and the arguments as JSON. */
  readonly action: string;
  readonly result: Promise<unknown>;
}

class KeptComputer {
  readonly runId: string;
  readonly #provider: ComputerProvider;
  readonly #created: Promise<Computer>;
  readonly #made: MadeAction[] = [];
  #initialized: Promise<void> | undefined;

  constructor(runId: string, config: ComputerConfig, use: Use) {
    this.runId = runId;
    const provider = providerOf(config);
    this.#provider = provider;
    this.#created = (async () => provider.create(use))();
  }

  /** Returns the computer for a loop that starts. An action of an earlier loop returns its earlier result. */
  async forLoop(): Promise<Computer> {
    let next = 0;
    return new Proxy(await this.#created, {
      get: (computer, key) => {
        const value: unknown = Reflect.get(computer, key);
        if (typeof value !== "function") return value;
        if (key === "initRun") return async (runContext?: AnyContext) => this.#initialize(computer, runContext);
        if (!actions.has(key)) return value.bind(computer);
        return (...given: readonly unknown[]) =>
          this.#act(next++, [key, ...given], () => Reflect.apply(value, computer, given) as unknown);
      },
    });
  }

  async dispose({ runContext }: Use): Promise<void> {
    const computer = await this.#created.catch(() => undefined);
    if (computer) await this.#provider.dispose?.({ runContext, computer });
  }

  #act(at: number, given: readonly unknown[], perform: () => unknown): Promise<unknown> {
    const action = JSON.stringify(given.filter((each) => !(each instanceof RunContext)));
    const known = this.#made[at];
    if (known?.action === action) return known.result;
    const made = { action, result: (async () => perform())() };
    // After a different action, the results of later actions are wrong.
    this.#made.splice(at, Infinity, made);
    return made.result;
  }

  #initialize(computer: Computer, runContext?: AnyContext): Promise<void> {
    this.#initialized ??= (async () => computer.initRun?.(runContext))().catch((error: unknown) => {
      this.#initialized = undefined;
      throw error;
    });
    return this.#initialized;
  }
}

function providerOf(config: ComputerConfig): ComputerProvider {
  if (typeof config === "function") return { create: config };
  return "screenshot" in config ? { create: () => config } : config;
}
