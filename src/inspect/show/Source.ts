import type { RecordLog } from "../../storage/RecordLog.ts";
import type { AgentIndex } from "../log/AgentIndex.ts";
import { ValueLoader } from "../value/ValueLoader.ts";
import type { OwnerView } from "../view/AgentView.ts";
import type { ShownValue } from "../view/ShownValue.ts";

/** What views of one agent are made from. */
export interface Source {
  readonly log: RecordLog;
  readonly index: AgentIndex;
  /** Who has the agent now. `undefined`: nobody. */
  readonly owner: OwnerView | undefined;
  /** How many characters and items of a value are shown. */
  readonly maxValueLength: number;
}

/** A source whose values can be shown. */
export interface Shown extends Source {
  /** Shows a value; where none is stored, as null. */
  readonly show: (value: unknown) => ShownValue;
  /** What has been read. */
  readonly values: ValueLoader;
}

const placeholder: ShownValue = { value: null };

/**
 * Makes a view twice: the first time to find out which values it shows. Then those are read, all together, and it is made
 * again with them.
 */
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
