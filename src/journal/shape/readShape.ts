import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { type LogShape, logIdOf, type ShapeState } from "./LogShape.ts";
import { type ReadRecords, readRecords } from "./readRecords.ts";
import { ShapeValues } from "./ShapeValues.ts";

/** A log as it was read, without owning it. */
export class ShapeView<Rec extends LogRecord, State extends ShapeState<Rec>> {
  readonly state: State;
  /** Of the last append; 0: there is none. */
  readonly position: number;
  /** What {@link readShape} continues from. */
  readonly records: ReadRecords<Rec, State>;
  readonly #values: ShapeValues;

  constructor(records: ReadRecords<Rec, State>, values: ShapeValues) {
    this.state = records.contents.state;
    this.position = records.end?.position ?? 0;
    this.records = records;
    this.#values = values;
  }

  /** Whether the log has records. */
  get exists(): boolean {
    return this.position > 0;
  }

  /** Decodes stored values, as {@link ShapeValues.read}. */
  read(values: readonly StoredValue[]): Promise<unknown[]> {
    return this.#values.read(values);
  }
}

/**
 * Reads a log of any shape but that of an agent, as all that is durable makes it. Owns and writes nothing.
 *
 * @param options.id what users call the log: without the name of its shape.
 * @param known what was read of this log before. Only what follows is read then, and added to its state: nobody may use it
 *   afterwards. Default: nothing was.
 * @throws WrongShapeError, CorruptLogError, UnreadableValueError, UnsupportedFormatError, UnsupportedRecordError
 */
export async function readShape<Rec extends LogRecord, State extends ShapeState<Rec>>(
  shape: LogShape<Rec, State>,
  { log, id }: { readonly log: RecordLog; readonly id: string },
  known?: ShapeView<Rec, State>,
): Promise<ShapeView<Rec, State>> {
  const records = await readRecords(shape, log, id, known?.records);
  return new ShapeView(records, new ShapeValues(log, logIdOf(shape, id)));
}
