export { comparisonPage, timelinePage } from "./timeline/timelinePage.ts";
export { serveTimeline, type ServeTimelineOptions, type TimelineServer } from "./timeline/serveTimeline.ts";
export type { HiddenValues } from "./timeline/options/Redaction.ts";
export type { TimelineOptions, TokenPrice, TokenPrices } from "./timeline/options/TimelineOptions.ts";
