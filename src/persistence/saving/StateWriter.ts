import type { Journal } from "../../journal/Journal.ts";
import type { Decision } from "../../agent/context/AgentContext.ts";
import type { RecordedRequirements, RunSettings, RunState } from "../../agent/state/RunState.ts";
import { type ValueWriter, historyRecords, storageRecords } from "../../checkpoint/format/ValueWriter.ts";
import type { HistoryChange } from "../../checkpoint/messages/MessageHistory.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { DecisionRecord, RequirementsRecord, SettingsRecord } from "../../checkpoint/records/lineRecords.ts";

interface SavedState extends Pick<RunState, "requirements"> {
  readonly settings: RunSettings | undefined;
  readonly decisions: readonly DecisionRecord[];
}

/** Converts changes of a run's state into records. After a rejected save, the changes are saved with the next one. */
export class StateWriter {
  readonly #writer: ValueWriter;
  readonly #lane: number;
  readonly #now: () => number;
  #history: HistoryChange[] = [];
  #storage = new Map<string, { readonly value: unknown } | undefined>();
  #decisions: { readonly decision: Decision; readonly node: string; readonly at: number }[] = [];
  #settings: RunSettings | undefined;
  #requirements: RecordedRequirements | undefined;
  readonly decisions: DecisionRecord[];

  constructor(writer: ValueWriter, lane: number, now: () => number, saved?: SavedState) {
    this.#writer = writer;
    this.#lane = lane;
    this.#now = now;
    this.#settings = saved?.settings;
    this.#requirements = saved?.requirements;
    this.decisions = [...(saved?.decisions ?? [])];
  }

  /** Returns the records of the changes. If `check` throws, the next call returns them again. */
  take(state: RunState, node: string, check?: (records: readonly AgentRecord[]) => void): AgentRecord[] {
    this.#collect(state, node);
    if (!this.#hasNews(state)) {
      check?.([]);
      return [];
    }
    const decided = this.#decisionRecords();
    const records = [...this.#records(state), ...decided];
    check?.(records);
    this.decisions.push(...decided);
    this.#history = [];
    this.#storage = new Map();
    this.#decisions = [];
    this.#settings = state.settings;
    this.#requirements = state.requirements;
    return records;
  }

  peek(state: RunState, node: string): readonly AgentRecord[] {
    this.#collect(state, node);
    return this.#hasNews(state) ? [...this.#records(state), ...this.#decisionRecords()] : [];
  }

  #collect(state: RunState, node: string): void {
    this.#history.push(...state.history.takeChanges());
    for (const [key, change] of state.storage.takeChanges()) this.#storage.set(key, change);
    for (const decision of state.takeDecisions()) this.#decisions.push({ decision, node, at: this.#now() });
  }

  #hasNews({ settings, requirements }: RunState): boolean {
    const { length } = this.#history;
    const changed = length > 0 || this.#storage.size > 0 || this.#decisions.length > 0;
    return changed || settings !== this.#settings || requirements !== this.#requirements;
  }

  #records({ settings, requirements }: RunState): AgentRecord[] {
    const lane = this.#lane;
    return [
      ...historyRecords(this.#history, lane, this.#writer),
      ...storageRecords(this.#storage, lane, this.#writer),
      ...(settings === this.#settings ? [] : [this.settingsRecord(settings)]),
      ...(requirements === this.#requirements || isEmpty(requirements, this.#requirements)
        ? []
        : [this.requirementsRecord(requirements)]),
    ];
  }

  #decisionRecords(): DecisionRecord[] {
    return this.#decisions.map(({ decision: { decision, reason }, node, at }) => ({
      kind: "decision",
      lane: this.#lane,
      at,
      node,
      decision,
      ...(reason !== undefined && { reason }),
    }));
  }

  settingsRecord({ model, parameters, tools }: RunSettings): SettingsRecord {
    return {
      kind: "settings",
      lane: this.#lane,
      model,
      tools,
      ...(parameters && { parameters: this.#writer.value(parameters, "the model parameters") }),
    };
  }

  requirementsRecord(requirements: RecordedRequirements): RequirementsRecord {
    const { files = [], environment = {}, workingDirectory: directory, hashes } = requirements;
    return {
      kind: "requirements",
      lane: this.#lane,
      files,
      environment,
      ...(directory !== undefined && { directory }),
      ...(hashes && Object.keys(hashes).length > 0 && { hashes }),
    };
  }
}

function isEmpty(
  { files = [], environment = {}, workingDirectory }: RecordedRequirements,
  saved: RecordedRequirements | undefined,
): boolean {
  const stated = files.length > 0 || Object.keys(environment).length > 0 || workingDirectory !== undefined;
  return saved === undefined && !stated;
}

export interface LastSave {
  readonly at: number;
  /** The bytes that the journal had accepted for the lane before the save. */
  readonly valueBytes: number;
  readonly left: boolean;
  readonly progress: number | undefined;
  readonly progressSummary: string | undefined;
}

export function lastSave(
  journal: Journal,
  lane: number,
  { progress, progressSummary }: Partial<Pick<RunState, "progress" | "progressSummary">>,
): LastSave {
  const at = journal.clock.monotonic();
  return { at, valueBytes: journal.valueBytesOn(lane), left: false, progress, progressSummary };
}
