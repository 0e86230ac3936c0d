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
  /** Returns a value for a view, or null if the value is missing. */
  readonly show: (value: unknown) => ShownValue;
  readonly values: ValueLoader;
}

const placeholder: ShownValue = { value: null };

/** Creates a view twice: first to find the values to load. Repeats this if another call adds appends meanwhile. */
export async function withValues<View>(source: Source, make: (shown: Shown) => View): Promise<View> {
  const { index } = source;
  const values = new ValueLoader(source.log, index, source.maxValueLength);
  for (let known = -1; known !== index.nextOrder;) {
    known = index.nextOrder;
    const wanted: unknown[] = [];
    const note = (value: unknown): ShownValue => {
      wanted.push(value);
      return placeholder;
    };
    make({ ...source, show: note, values });
    await values.load(wanted);
  }
  return make({ ...source, show: (value) => values.show(value), values });
}
