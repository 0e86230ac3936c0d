/** Ids of calls have 22 characters, and one in 64 begins with a dash. No option of ours is written in so many. */
const dashedId = /^-[\w-]{21}$/;
/** No argument of a process has this character. */
const mark = "\0";

/** An argument for the parser, which takes what begins with a dash for an option. */
export function marked(argument: string): string {
  return dashedId.test(argument) ? mark + argument : argument;
}

/** What the parser gives for it, as it was. */
export function unmarked<Value>(value: Value): Value {
  return typeof value === "string" && value.startsWith(mark) ? (value.slice(mark.length) as Value) : value;
}
