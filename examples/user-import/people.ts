import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { z } from "zod";

export const Person = z.object({ name: z.string().min(1), email: z.string().min(1), city: z.string() });
export type Person = z.infer<typeof Person>;

/** A CSV file is invalid; the message says why in one line. */
export class CsvError extends Error {}

/** The people of a CSV file with the columns `name`, `email` and optionally `city`. */
export function readPeople(file: string): readonly Person[] {
  const [header, ...rows] = rowsOf(file);
  if (header === undefined || rows.length === 0) throw new CsvError(`${file}: there are no people in it`);
  const column = columnsOf(file, header);
  return rows.map((row, at) => {
    const cell = (name: string): string => row[column.indexOf(name)] ?? "";
    const person = Person.safeParse({ name: cell("name"), email: cell("email"), city: cell("city") });
    if (!person.success) throw new CsvError(`${file}: row ${at + 2} has no ${person.error.issues[0]?.path.join()}`);
    return person.data;
  });
}

function rowsOf(file: string): readonly (readonly string[])[] {
  const options = { bom: true, trim: true, skip_empty_lines: true, relax_column_count: true };
  try {
    return parse(readFileSync(file), options);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new CsvError(`${file}: ${code === "ENOENT" ? "there is no such file" : message}`, { cause });
  }
}

function columnsOf(file: string, header: readonly string[]): readonly string[] {
  const columns = header.map((name) => name.toLowerCase());
  const missing = ["name", "email"].filter((name) => !columns.includes(name));
  if (missing.length === 0) return columns;
  throw new CsvError(`${file}: columns are missing: ${missing.join(", ")}; found: ${header.join(", ")}`);
}
