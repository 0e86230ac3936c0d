/** Matches call ids that start with a dash, one of 64. They have 22 characters. No option is that long. */
const dashedId = /^-[\w-]{21}$/;
/** A character that process arguments cannot contain. */
const mark = "\0";

/** Marks an id, because the parser treats arguments with a dash as options. */
export function marked(argument: string): string {
  return dashedId.test(argument) ? mark + argument : argument;
}

export function unmarked<Value>(value: Value): Value {
  return typeof value === "string" && value.startsWith(mark) ? (value.slice(mark.length) as Value) : value;
}
