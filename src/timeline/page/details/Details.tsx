import { useState } from "preact/hooks";
import type { TimelineItem, TimelineStep } from "../../data/TimelineData.ts";
import { stateAtStep, type StateAtStep } from "../../layout/stateAtStep.ts";
import { Conversation, TextBlock } from "./Conversation.tsx";
import { FilesPart, StoragePart } from "./StateParts.tsx";
import { StepPart } from "./StepPart.tsx";
import { titleOf, titleOfMark } from "../list/StepRow.tsx";
import { linkTo } from "../../layout/Choice.ts";
import { dateText } from "../../layout/durations.ts";
import type { ComponentChildren } from "preact";
import { stateOfResult } from "../../layout/shownItems.ts";
import { StateLabel } from "../list/Glyph.tsx";

interface DetailsProps {
  readonly step: TimelineStep;
  readonly steps: ReadonlyMap<string, TimelineStep>;
  readonly onCompare: () => void;
  readonly onClose: () => void;
}

const tabs = ["Step", "Messages", "Input", "Storage", "Files", "Records"] as const;
type TabName = (typeof tabs)[number];

export function Details({ step, steps, onCompare, onClose }: DetailsProps) {
  const [tab, setTab] = useState<TabName>("Step");
  const state = stateAtStep(step, steps);
  const counts = { Messages: state.messages.length, Storage: state.storage.size, Files: step.changes.files.length };
  return (
    <>
      <DetailsHead title={titleOf(step)} item={step} onClose={onClose}>
        <p class="facts">
          {step.checkpoint !== undefined && <code>{step.checkpoint}</code>}
          {step.version !== undefined && <span>{`version ${step.version}`}</span>}
          {step.run !== undefined && <span>{`run ${step.run}`}</span>}
          <button type="button" onClick={onCompare}>
            Compare with…
          </button>
        </p>
      </DetailsHead>
      <Tabs label="Parts of the step" names={tabs} counts={counts} chosen={tab} onChoose={setTab}>
        <TabContent key={`${step.key} ${tab}`} tab={tab} step={step} state={state} />
      </Tabs>
    </>
  );
}

interface TabContentProps {
  readonly tab: TabName;
  readonly step: TimelineStep;
  readonly state: StateAtStep;
}

function TabContent({ tab, step, state }: TabContentProps) {
  switch (tab) {
    case "Step":
      return <StepPart step={step} />;
    case "Messages":
      return <Conversation messages={state.messages} added={state.added} />;
    case "Input":
      return <InputPart step={step} state={state} />;
    case "Storage":
      return <StoragePart storage={state.storage} changes={step.changes} />;
    case "Files":
      return <FilesPart files={step.changes.files} all={state.files} />;
    case "Records":
      return <Records records={step.records} />;
  }
}

function InputPart({ step, state: { input, settings } }: Omit<TabContentProps, "tab">) {
  return (
    <>
      <h3>{step.ended === undefined ? `Input of ${step.next ?? "the next node"}` : "Output of the run"}</h3>
      <TextBlock text={input} />
      {settings !== "" && (
        <>
          <h3>Settings</h3>
          <TextBlock text={settings} />
        </>
      )}
    </>
  );
}

function Records({ records }: { readonly records: readonly string[] }) {
  if (records.length === 0) return <p class="empty">No records are on this page.</p>;
  return (
    <>
      {records.map((record) => (
        <TextBlock text={record} />
      ))}
    </>
  );
}

interface DetailsHeadProps {
  readonly title: string;
  readonly item: TimelineItem;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}

function DetailsHead({ title, item, onClose, children }: DetailsHeadProps) {
  return (
    <header>
      <div class="title">
        <h2 tabIndex={-1}>{title}</h2>
        <a class="link" href={linkTo({ chosen: item.key })} aria-label="Link to this step">
          #
        </a>
        <time>{dateText(item.at)}</time>
        <button type="button" class="close" onClick={onClose} aria-label="Close the details">
          ×
        </button>
      </div>
      {children}
    </header>
  );
}

interface TabsProps<Name extends string> {
  readonly label: string;
  readonly names: readonly Name[];
  readonly counts: Readonly<Partial<Record<Name, number>>>;
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
  readonly children: ComponentChildren;
}

/** Tabs that support the arrow keys. */
function Tabs<Name extends string>({ label, names, counts, chosen, onChoose, children }: TabsProps<Name>) {
  const step = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const name = names.at((names.indexOf(chosen) + by) % names.length);
    if (by === 0 || name === undefined) return;
    event.preventDefault();
    onChoose(name);
    document.getElementById(`tab-${name}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={step}>
        {names.map((name) => (
          <button
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === chosen}
            aria-controls="tab-content"
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {name}
            {(counts[name] ?? 0) > 0 && <small>{counts[name]}</small>}
          </button>
        ))}
      </div>
      <div class="content" id="tab-content" role="tabpanel" aria-labelledby={`tab-${chosen}`} tabIndex={0}>
        {children}
      </div>
    </>
  );
}

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
        <p>{`Another process took over the agent, with generation ${item.generation}.${item.cut ? " The previous owner did not finish its work." : ""}`}</p>
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
          <p class="label">{[id, result === "skipped" && "its effect was kept", reason].filter(Boolean).join(" · ")}</p>
        </article>
      ))}
      <h3>Records</h3>
      <Records records={item.records} />
    </>
  );
}
