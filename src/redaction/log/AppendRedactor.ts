import { InvalidInputError } from "../../errors/agentErrors.ts";
import type { LogAppend } from "../../storage/RecordLog.ts";
import type { KnownSecrets } from "../values/KnownSecrets.ts";
import { type Places, type RedactionRules, shownText } from "../values/ValueWalk.ts";
import { RecordWalk, HiddenValue, CallTools } from "./RecordWalk.ts";
import { isToken } from "./redactedToken.ts";
import { hasMark, restatesLog } from "./vaultMark.ts";

export interface RedactedAppend {
  readonly append: LogAppend;
  readonly hidden: readonly HiddenValue[];
  /** The references of blobs with unknown secrets, because an earlier process stored them. */
  readonly unread: readonly string[];
}

export class AppendRedactor {
  readonly #rules: RedactionRules;
  readonly #secrets: KnownSecrets;
  readonly #tools = new CallTools();
  /** Whether a record of the log says that the agent has a vault. Processes without the vault reject the agent. */
  #isMarked = false;

  constructor(rules: RedactionRules, secrets: KnownSecrets) {
    this.#rules = rules;
    this.#secrets = secrets;
  }

  /** Learns secrets and calls from stored records. `restored` contains the values that the records redact. */
  learn(records: LogAppend["records"], restored: readonly unknown[]): void {
    this.#isMarked ||= records.some(hasMark);
    this.#learning([]).records(records);
    for (const value of restored)
      if (typeof value === "string" && shownText(this.#rules, value) === value) this.#secrets.addRestored(value);
  }

  /**
   * Returns a copy of an append with hidden values. With `keepsTokens`, tokens from a log stay. Otherwise texts that
   * look like tokens are hidden, because a reader would decrypt them.
   *
   * @throws InvalidInputError for an id or name that looks like a token
   */
  redact(append: LogAppend, keepsTokens = false): RedactedAppend {
    const unread = this.#learnAppend(append);
    const hidden: HiddenValue[] = [];
    const hide = (value: unknown, shown: string): HiddenValue => {
      const found = new HiddenValue(value, shown);
      hidden.push(found);
      return found;
    };
    const options = {
      rules: this.#rules,
      secrets: this.#secrets,
      replace: hide,
      replaceText: hide,
      ...(keepsTokens ? { keeps: isToken } : { hides: isToken }),
    };
    const walk = new RecordWalk(options, this.#tools);
    const walked = walk.records(append.records);
    const isMarked = this.#isMarked || walked.some(hasMark);
    const records = isMarked ? walked : walk.marked(walked);
    this.#isMarked = isMarked || records.some(hasMark);
    const summary = append.summary && walk.summary(append.summary);
    const redacted = { ...append, records, ...(summary && { summary }) };
    if (!keepsTokens) assertNoTokens(redacted);
    return { append: hidden.length === 0 ? append : (copyOf(redacted) as LogAppend), hidden, unread };
  }

  /** Learns the secrets of an append. Returns the blobs whose secrets are unknown. */
  #learnAppend({ records, summary }: LogAppend): readonly string[] {
    const unread: string[] = [];
    for (const record of records) this.#learning(restatesLog(record) ? [] : unread).records([record]);
    if (summary) this.#learning([]).summary(summary);
    return unread;
  }

  /** Learns the secrets of a blob, at once or when it is read. Returns whether they are known. */
  #learnBlob(reference: string, places: Places | undefined): boolean {
    if (this.#rules.paths.length === 0 && places) return true;
    return this.#secrets.blobs.expect(reference, JSON.stringify(places) ?? "", (value) => {
      if (places) this.#learning([]).value(value, places);
      else this.#secrets.add(value);
    });
  }

  #learning(unread: string[]): RecordWalk {
    const replace = (value: unknown): unknown => {
      this.#secrets.add(value);
      return value;
    };
    return new RecordWalk(
      {
        rules: { paths: this.#rules.paths },
        secrets: this.#secrets,
        replace,
        replaceText: (value) => value,
        inBlob: (reference, places) => {
          if (!this.#learnBlob(reference, places)) unread.push(reference);
        },
      },
      this.#tools,
    );
  }
}

/** Copies plain JSON. Hidden values stay the same objects. */
function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof HiddenValue) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)]));
}

/** Rejects ids and names that look like tokens, because readers would decrypt them. @throws InvalidInputError */
function assertNoTokens({ records, summary }: Pick<LogAppend, "records" | "summary">): void {
  for (const record of records) assertNone(record, `${record.kind} to record`);
  if (summary) assertNone(summary, "summary to record");
}

function assertNone(value: object, subject: string): void {
  const path = pathOfToken(value);
  if (path === undefined) return;
  const expected = "found a text in the form of a redacted value. Choose another text";
  throw new InvalidInputError(subject, [{ path: path.join("."), expected }]);
}

function pathOfToken(value: unknown): readonly string[] | undefined {
  if (typeof value === "string") return isToken(value) ? [] : undefined;
  if (typeof value !== "object" || value === null || value instanceof HiddenValue) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const path = pathOfToken(item);
    if (path) return [key, ...path];
  }
  return undefined;
}
