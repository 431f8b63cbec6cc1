// Icon is a line drawing on a 16-pixel grid.
const paths = {
  sessions: "M2.5 4h11M2.5 8h11M2.5 12h7",
  live: "M8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6M4.3 11.7a5.2 5.2 0 0 1 0-7.4M11.7 4.3a5.2 5.2 0 0 1 0 7.4",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3 13.5 13.5",
  memory: "M4 2.5h8v11L8 10.6 4 13.5z",
  usage: "M3 13.5v-4M6.3 13.5v-8M9.7 13.5v-6M13 13.5v-11",
  keys: "M5 7.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M6.8 8.2l6.2-6.2M10.5 4.5l2 2",
  sources: "M2.5 4.5v8h11v-7h-6l-1.5-2h-3.5z",
  ops: "M1.5 8.5h3l2-5 3 9 2-4h3",
  more: "M3.5 7.7a.3.3 0 1 0 0 .6.3.3 0 0 0 0-.6M8 7.7a.3.3 0 1 0 0 .6.3.3 0 0 0 0-.6M12.5 7.7a.3.3 0 1 0 0 .6.3.3 0 0 0 0-.6",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.5 3.5L13 4.5",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  terminal: "M3 4.5 6.5 8 3 11.5M8 12h5",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  branch: "M5 2.5v11M5 9c0-2.5 6-1.5 6-5M11 4V2.5",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  help: "M6 6a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4M8 11.8h.01",
  stop: "M4.5 4.5h7v7h-7z",
  plus: "M8 3v10M3 8h10",
  filter: "M2.5 4h11M4.5 8h7M6.5 12h3",
  attach: "M12.5 7.5 7.6 12.4a2.8 2.8 0 0 1-4-4L8.9 3.1a1.9 1.9 0 0 1 2.7 2.7l-5.2 5.2a.9.9 0 0 1-1.3-1.3l4.6-4.6",
  edit: "M3 13l.6-2.8 7.3-7.3 2.2 2.2-7.3 7.3zM9.5 4.3l2.2 2.2",
  retry: "M12.8 8a4.8 4.8 0 1 1-1.5-3.5M12.8 2.5v2.6h-2.6",
  pin: "M6 2.5h4l-.5 4.5 2 2v1h-7v-1l2-2zM8 10v3.5",
  left: "M10 4l-4 4 4 4",
  up: "M4 10l4-4 4 4",
  link: "M7 9.5a2.3 2.3 0 0 0 3.3 0l2-2a2.3 2.3 0 0 0-3.3-3.3l-.8.8M9 6.5a2.3 2.3 0 0 0-3.3 0l-2 2A2.3 2.3 0 0 0 7 11.8l.8-.8",
  hide: "M2 8s2.2-4 6-4 6 4 6 4-2.2 4-6 4-6-4-6-4M3 13 13 3",
  settings: "M2.5 4.5h6M11.5 4.5h2M10 3v3M2.5 8h2M7.5 8h6M6 6.5v3M2.5 11.5h6M11.5 11.5h2M10 10v3",
  alert: "M8 2.5 14 13H2zM8 6.5v3M8 11.3h.01",
  write: "M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z",
  out: "M9 3.5h3.5v9H9M3 8h6M6.5 5.5 9 8l-2.5 2.5",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
