import { render } from "preact";
import type { TimelineData, TimelineNews, ListedPage } from "../data/TimelineData.ts";
import type { ComparisonData } from "../data/comparedRuns.ts";
import { ComparisonApp } from "./comparison/ComparisonApp.tsx";
import { TimelineApp } from "./TimelineApp.tsx";
import "./page.css";
import { dateText } from "../layout/durations.ts";

const root = document.getElementById("timeline") as HTMLElement;
const given = document.getElementById("timeline-data")?.textContent ?? "";
const parsed = JSON.parse(given) as TimelineData | AgentListData | ComparisonData;
let data = parsed as TimelineData;
let live: boolean | undefined;

function draw(): void {
  render(<Page />, root);
}

function Page() {
  if ("agents" in parsed) return <AgentList agents={parsed.agents} hasMore={parsed.hasMore} />;
  if ("comparison" in parsed) return <ComparisonApp data={parsed} />;
  return <TimelineApp data={data} live={live} />;
}

function follow(address: string): void {
  const events = new EventSource(address);
  events.addEventListener("open", () => {
    live = true;
    draw();
  });
  events.addEventListener("error", () => {
    live = false;
    draw();
  });
  events.addEventListener("gone", () => {
    events.close();
    live = false;
    data = { ...data, agent: { ...data.agent, status: "deleted" } };
    draw();
  });
  events.addEventListener("message", (event: MessageEvent<string>) => {
    const { agent, from, items } = JSON.parse(event.data) as TimelineNews;
    data = { agent, items: [...data.items.slice(0, from), ...items] };
    draw();
  });
}

draw();
const { events } = root.dataset;
if (events !== undefined) follow(events);

interface AgentListData {
  readonly agents: readonly ListedPage[];
  /** Whether the storage has agents that the list omits. */
  readonly hasMore: boolean;
}

function AgentList({ agents, hasMore }: AgentListData) {
  return (
    <main class="agents">
      <h1>Agents</h1>
      {agents.length === 0 && <p class="empty">The storage has no agents.</p>}
      <ul>
        {agents.map(({ id, status, at, reason, url }) => (
          <li>
            <a href={url}>{id}</a>
            <span class={`status ${status}`}>{status.replaceAll("_", " ")}</span>
            <span class="reason">{reason}</span>
            <span class="filler" />
            {at !== "" && <time>{dateText(Date.parse(at))}</time>}
          </li>
        ))}
      </ul>
      {hasMore && (
        <p class="empty">
          The storage has more than {agents.length} agents. To see another agent, use <code>ui &lt;agent&gt;</code>.
        </p>
      )}
    </main>
  );
}
