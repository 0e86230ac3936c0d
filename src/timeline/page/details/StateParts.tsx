import type { TimelineChanges, TimelineFile } from "../../data/TimelineData.ts";
import { TextBlock } from "./Conversation.tsx";
import { diffLines } from "diff";
import { useMemo } from "preact/hooks";

/** Limits for computing text differences. Above them, both texts are shown in full. */
const limits = { characters: 400_000, milliseconds: 300 };

interface StoragePartProps {
  readonly storage: ReadonlyMap<string, string>;
  readonly changes: TimelineChanges;
}

/** The storage at a step. Keys that the step changed come first. */
export function StoragePart({ storage, changes }: StoragePartProps) {
  const gone = Object.entries(changes.storage).flatMap(([key, value]) => (value === null ? [key] : []));
  const isNew = (key: string): boolean => Object.hasOwn(changes.storage, key);
  const keys = [...storage.keys()].toSorted((a, b) => Number(isNew(b)) - Number(isNew(a)) || a.localeCompare(b));
  if (keys.length + gone.length === 0) return <p class="empty">The storage is empty.</p>;
  return (
    <>
      {gone.map((key) => (
        <p class="warning">
          The step removed <code>{key}</code>.
        </p>
      ))}
      {keys.map((key) => (
        <section class="block">
          <h3>
            {key} {isNew(key) && <span class="tag quiet">changed here</span>}
          </h3>
          <TextBlock text={storage.get(key) ?? ""} />
        </section>
      ))}
    </>
  );
}

interface FilesPartProps {
  readonly files: readonly TimelineFile[];
  readonly all: ReadonlyMap<string, TimelineFile>;
}

/** The files that a step changed, and the paths of files that were changed before. */
export function FilesPart({ files, all }: FilesPartProps) {
  const earlier = [...all.keys()].filter((path) => files.every((file) => file.path !== path));
  return (
    <>
      {files.length === 0 && <p class="empty">The step changed no files.</p>}
      {files.map((file) => (
        <FileBlock file={file} />
      ))}
      {earlier.length > 0 && (
        <section class="block">
          <h3>Changed before</h3>
          <ul class="paths">
            {earlier.map((path) => (
              <li>
                <code>{path}</code>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

export function FileBlock({ file }: { readonly file: TimelineFile }) {
  const { path, change, before, after, note } = file;
  return (
    <section class="block">
      <h3>
        <code>{path}</code> <span class="tag quiet">{change}</span>
      </h3>
      {note !== undefined && <p class="label">{note}</p>}
      {(before !== undefined || after !== undefined) && <TextDifference before={before} after={after} />}
    </section>
  );
}

interface TextDifferenceProps {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export function TextDifference({ before, after }: TextDifferenceProps) {
  const parts = useMemo(() => changesOf(before ?? "", after ?? ""), [before, after]);
  if (parts === undefined) return <Both before={before} after={after} />;
  return (
    <pre class="code difference">
      {parts.map(({ added, removed, value }) => {
        if (added) return <ins>{marked("+ ", value)}</ins>;
        if (removed) return <del>{marked("− ", value)}</del>;
        return <span>{marked("  ", shortened(value))}</span>;
      })}
    </pre>
  );
}

function changesOf(before: string, after: string) {
  if (before.length + after.length > limits.characters) return undefined;
  return diffLines(withEnd(before), withEnd(after), { timeout: limits.milliseconds });
}

function withEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function marked(mark: string, text: string): string {
  const lines = text.endsWith("\n") ? text.slice(0, -1) : text;
  return lines
    .split("\n")
    .map((line) => `${mark}${line}\n`)
    .join("");
}

/** Shortens an unchanged part of a text to its first and last lines. */
function shortened(text: string): string {
  const lines = text.split("\n");
  if (lines.length <= 9) return text;
  return [...lines.slice(0, 3), `⋯ ${lines.length - 7} lines are the same`, ...lines.slice(-4)].join("\n");
}

function Both({ before, after }: TextDifferenceProps) {
  return (
    <div class="both">
      <h4>Before</h4>
      <TextBlock text={before ?? ""} />
      <h4>After</h4>
      <TextBlock text={after ?? ""} />
    </div>
  );
}
