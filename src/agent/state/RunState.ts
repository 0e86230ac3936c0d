import { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { MessageHistory, type MessageNumbers, type NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { Decision, Requirements } from "../context/AgentContext.ts";
import { TypedStorage } from "./TypedStorage.ts";

const progressSchema = z.object({
  percent: customSchema("a number from 0 to 100", (value) => typeof value === "number" && value >= 0 && value <= 100),
  summary: z.string().optional(),
});
const decisionSchema = strictOptions(() => ({ decision: z.string(), reason: z.string().optional() }));
const requirementsSchema = strictOptions(() => ({
  files: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
}));

/** The state of a run, as checkpoints store it. It tracks its changes, so that a save writes only these. */
export class RunState {
  readonly history: MessageHistory;
  readonly storage: TypedStorage;
  iteration: number;
  #settings: RunSettings;
  #progress: number | undefined;
  #progressSummary: string | undefined;
  #requirements: RecordedRequirements;
  readonly #decisions: Decision[];
  #decisionsTaken: number;

  /** @param defaults Values from the agent configuration, for fields that the seed omits. */
  constructor(seed: RunStateSeed, defaults: { readonly settings: RunSettings; readonly systemPrompt?: string }) {
    this.history = new MessageHistory(seed.messages, seed.numbers);
    if (!seed.messages && defaults.systemPrompt !== undefined)
      this.history.append({ role: "system", content: defaults.systemPrompt });
    this.history.append(...(seed.added ?? []));
    this.storage = new TypedStorage(seed.storage);
    this.iteration = seed.iteration ?? 0;
    this.#settings = seed.settings ?? defaults.settings;
    this.#progress = seed.progress;
    this.#progressSummary = seed.progressSummary;
    this.#requirements = seed.requirements ?? {};
    this.#decisions = [...(seed.decisions ?? [])];
    this.#decisionsTaken = this.#decisions.length;
  }

  /** The settings of the run. Each change creates a new object. */
  get settings(): RunSettings {
    return this.#settings;
  }
  /** 0 to 100. `undefined` until it is set. */
  get progress(): number | undefined {
    return this.#progress;
  }
  get progressSummary(): string | undefined {
    return this.#progressSummary;
  }
  /** The requirements of the run. Each change creates a new object. */
  get requirements(): RecordedRequirements {
    return this.#requirements;
  }
  get decisions(): readonly Decision[] {
    return this.#decisions;
  }

  /** The data from which an equal state can be created, without the tracked changes. */
  get seed(): RunStateSeed {
    const { history, storage, settings, iteration, progress, progressSummary, decisions, requirements } = this;
    return withoutUndefined({
      messages: history.entries,
      numbers: history.numbers,
      storage: storage.values,
      settings,
      iteration,
      progress,
      progressSummary,
      decisions,
      requirements,
    });
  }

  configure(change: Partial<RunSettings>): void {
    this.#settings = frozenCopy({ ...this.#settings, ...change });
  }

  replaceSettings(settings: RunSettings): void {
    this.#settings = settings;
  }

  setProgress(percent: number, summary?: string): void {
    checkSchema(progressSchema, { percent, summary }, "progress");
    this.#progress = percent;
    this.#progressSummary = summary;
  }

  recordDecision(decision: Decision): void {
    checkSchema(decisionSchema, decision, "decision");
    this.#decisions.push(frozenCopy(decision));
  }

  takeDecisions(): readonly Decision[] {
    const fresh = this.#decisions.slice(this.#decisionsTaken);
    this.#decisionsTaken = this.#decisions.length;
    return fresh;
  }

  require(needs: Requirements): void {
    checkSchema(requirementsSchema, needs, "requirements");
    const { files = [], environment = {} } = needs;
    const known = this.#requirements;
    const freshFiles = files.filter((file) => !known.files?.includes(file));
    const freshNames = Object.entries(environment).some(([name, wanted]) => known.environment?.[name] !== wanted);
    if (freshFiles.length === 0 && !freshNames) return;
    this.#requirements = frozenCopy({
      ...known,
      files: [...new Set([...(known.files ?? []), ...freshFiles])],
      environment: { ...known.environment, ...environment },
    });
  }

  noteEnvironment(found: Required<Pick<RecordedRequirements, "workingDirectory" | "hashes">>): void {
    const { workingDirectory, hashes = {} } = this.#requirements;
    if (isSameValue({ workingDirectory, hashes }, found)) return;
    this.#requirements = frozenCopy({ ...this.#requirements, ...found });
  }
}

/** Plain data from which the state of a run is created. */
export interface RunStateSeed {
  /** Defaults to a new history that starts with the agent's system prompt. */
  readonly messages?: readonly NumberedMessage[];
  /** Messages after `messages` that no log contains yet. */
  readonly added?: readonly Message[];
  /** The message counter that all branches and sub-agents of the log share. Defaults to a new counter from 1. */
  readonly numbers?: MessageNumbers;
  /** Stored values by key, validated when they are first read. */
  readonly storage?: ReadonlyMap<string, unknown>;
  /** Defaults to the settings of the agent configuration. */
  readonly settings?: RunSettings;
  /** The number of completed nodes. Defaults to 0. */
  readonly iteration?: number;
  /** 0 to 100. `undefined` if not set. */
  readonly progress?: number;
  readonly progressSummary?: string;
  readonly decisions?: readonly Decision[];
  readonly requirements?: RecordedRequirements;
}

/** The defaults of model requests. Each change creates a new object, so that changes can be detected by identity. */
export interface RunSettings {
  readonly model: string;
  /** `undefined` for the provider's defaults. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** The names of the tools that the model can call. */
  readonly tools: readonly string[];
}

/** The requirements of a resume, with the values found by the last check. */
export interface RecordedRequirements extends Requirements {
  readonly files?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The directory to which the file paths are relative. `undefined` before the first check. */
  readonly workingDirectory?: string;
  /** The SHA-256 in hex of each file by path. `null` if the file did not exist. `undefined` before the first check. */
  readonly hashes?: Readonly<Record<string, string | null>>;
}
