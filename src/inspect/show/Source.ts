import type { RecordLog } from "../../storage/RecordLog.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import { ValueLoader } from "../log/ValueLoader.ts";
import type { OwnerView } from "../view/AgentView.ts";
import type { ShownValue } from "../view/viewParts.ts";

export interface Source {
  readonly log: RecordLog;
  readonly index: AgentIndex;
  /** The current owner. `undefined` if the agent has no owner. */
  readonly owner: OwnerView | undefined;
  readonly maxValueLength: number;
}

export interface Shown extends Source {
  /** Returns a value for a view, or null for a missing value. */
  readonly show: (value: unknown) => ShownValue;
  readonly values: ValueLoader;
}

const placeholder: ShownValue = { value: null };

/** Creates a view twice: the first pass finds the values to load for the second one. */
export async function withValues<View>(source: Source, make: (shown: Shown) => View): Promise<View> {
  const values = new ValueLoader(source.log, source.index, source.maxValueLength);
  const wanted: unknown[] = [];
  const note = (value: unknown): ShownValue => {
    wanted.push(value);
    return placeholder;
  };
  make({ ...source, show: note, values });
  await values.load(wanted);
  return make({ ...source, show: (value) => values.show(value), values });
}
