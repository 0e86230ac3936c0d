import type { Computer, ComputerTool } from "@openai/agents-core";
import type { AnyComputerTool, AnyContext } from "./AnyAgent.ts";
import { originalOf } from "./originals.ts";

type ComputerConfig = ComputerTool["computer"];
type ComputerProvider = Extract<ComputerConfig, { readonly create: unknown }>;

/** The loop that uses a computer. */
export interface ComputerUser {
  readonly agentId: string;
  readonly runId: string;
  /** The tool call around the loop. `undefined` in the loop of the run. */
  readonly call: string | undefined;
}

interface Use {
  readonly runContext: AnyContext;
}

interface KeptComputer {
  readonly runId: string;
  readonly computer: Promise<Computer>;
  readonly dispose: (use: Use) => Promise<void>;
}

/**
 * The computers of unfinished runs. The SDK creates a computer for each loop, and a resume starts the loop again.
 * Without this class, each resume would create another computer and never dispose the earlier one.
 */
export class KeptComputers {
  readonly #kept = new WeakMap<AnyComputerTool, Map<string, KeptComputer>>();

  /** Returns a tool whose computer is created and initialized once per run. It is disposed at the end of the loop. */
  keeping(tool: AnyComputerTool, user: () => ComputerUser): AnyComputerTool {
    const kept = this.#kept.get(tool) ?? new Map<string, KeptComputer>();
    this.#kept.set(tool, kept);
    const take = (place: string): KeptComputer | undefined => {
      const known = kept.get(place);
      kept.delete(place);
      return known;
    };
    const create = async (use: Use): Promise<Computer> => {
      const { agentId, runId, call = null } = user();
      const place = JSON.stringify([agentId, call]);
      const known = kept.get(place);
      if (known?.runId === runId) return known.computer;
      const made = { runId, ...newComputer(tool.computer as ComputerConfig, use) };
      kept.set(place, made);
      made.computer.catch(() => kept.get(place) === made && kept.delete(place));
      // An earlier run of the agent was abandoned while it waited.
      await known?.dispose(use).catch(() => {});
      return made.computer;
    };
    const dispose = async (use: Use): Promise<void> => {
      const { agentId, call = null } = user();
      await take(JSON.stringify([agentId, call]))?.dispose(use);
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

function newComputer(config: ComputerConfig, use: Use): Omit<KeptComputer, "runId"> {
  const { create, dispose } = providerOf(config);
  const created = (async () => create(use))();
  return {
    computer: created.then(initializedOnce),
    dispose: async ({ runContext }) => {
      const computer = await created.catch(() => undefined);
      if (computer) await dispose?.({ runContext, computer });
    },
  };
}

function providerOf(config: ComputerConfig): ComputerProvider {
  if (typeof config === "function") return { create: config };
  return "screenshot" in config ? { create: () => config } : config;
}

/** Returns a computer whose `initRun` runs once, although the SDK calls it for each loop. */
function initializedOnce(computer: Computer): Computer {
  if (!computer.initRun) return computer;
  let initialized: Promise<void> | undefined;
  const initRun: Computer["initRun"] = (runContext) =>
    (initialized ??= (async () => computer.initRun?.(runContext))().catch((error: unknown) => {
      initialized = undefined;
      throw error;
    }));
  return new Proxy(computer, {
    get: (target, key) => {
      if (key === "initRun") return initRun;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
