import type { TimelineItem, TimelineStep } from "../../data/TimelineData.ts";
import { DetailsHead, Records } from "./Details.tsx";
import { stateOfResult } from "../../layout/shownItems.ts";
import { StateLabel } from "../list/Glyph.tsx";
import { titleOfMark } from "../list/MarkRow.tsx";
import { TextBlock } from "./TextBlock.tsx";

interface MarkDetailsProps {
  readonly item: Exclude<TimelineItem, TimelineStep>;
  readonly onClose: () => void;
}

export function MarkDetails({ item, onClose }: MarkDetailsProps) {
  return (
    <>
      <DetailsHead title={titleOfMark(item)} item={item} onClose={onClose} />
      <div class="content" role="region" aria-label="Details" tabIndex={0}>
        <MarkContent item={item} />
      </div>
    </>
  );
}

function MarkContent({ item }: Pick<MarkDetailsProps, "item">) {
  switch (item.kind) {
    case "run":
      return (
        <>
          <p class="label">{`Run ${item.run}. Its input:`}</p>
          <TextBlock text={item.input} />
        </>
      );
    case "owner":
      return (
        <p>{`Another process writes from here on, as generation ${item.generation}.${item.cut ? " The owner before had not ended its work." : ""}`}</p>
      );
    case "note":
      return (
        <>
          <TextBlock text={item.text ?? ""} prose />
          {item.records !== undefined && <Records records={item.records} />}
        </>
      );
    case "damage":
      return <TextBlock text={item.text} prose />;
    case "rollback":
      return <RollbackContent item={item} />;
  }
}

function RollbackContent({ item }: { readonly item: Extract<TimelineItem, { kind: "rollback" }> }) {
  return (
    <>
      <p>{`${item.redo ? "To" : "Back to"} ${item.target ?? "a checkpoint that was pruned"}. The calls in the order in which they were reverted:`}</p>
      {item.calls.map(({ id, tool, result, reason }) => (
        <article class="call-block">
          <h4>
            {result === "reverted" ? <s>{tool}</s> : tool} <StateLabel state={stateOfResult[result]} />
          </h4>
          <p class="label">{[id, result === "skipped" && "its effect was left", reason].filter(Boolean).join(" · ")}</p>
        </article>
      ))}
      <h3>Records</h3>
      <Records records={item.records} />
    </>
  );
}
