// Made from docs/openapi.json by `make web`. Do not edit.

export interface Action {
  agent?: string;
  bytes: number;
  do: string;
  error?: string;
  key?: string;
  outcome?: string;
  session: string;
  title?: string;
  updated?: string;
  why: string;
}

export interface Agent {
  assumed?: boolean;
  id: string;
  model: string;
  provider: string;
  window: number;
}

export interface AgentPage {
  cursor?: string;
  items: Agent[] | null;
  total: number;
}

export interface Answer {
  agent?: string;
  calls?: number;
  entry?: string;
  message?: string;
  model?: string;
  pending?: Tool[];
  provider?: string;
  queued?: boolean;
  rounds?: number;
  session: string;
  silent?: boolean;
  stop?: string;
  text: string;
  usage: Counters;
}

export interface AnswerFormat {
  description?: string;
  name?: string;
  schema?: unknown;
  strict?: boolean;
}

export interface Appended {
  end: number;
  ids: string[] | null;
  masked?: number;
}

export interface Approval {
  arguments?: unknown;
  call: string;
  diff?: string;
  digest: string;
  effect?: string;
  name: string;
  outside?: string;
  rule?: string;
}

export interface ApprovalAnswer {
  call?: string;
  decision: string;
  digest: string;
  reason?: string;
  rule?: string;
  scope?: string;
}

export interface ApprovalPage {
  cursor?: string;
  items: Approval[] | null;
  total: number;
}

export interface Batch {
  addTags?: string[];
  dropTags?: string[];
  ids: string[] | null;
  patch: Patch;
}

export interface BatchResult {
  before?: Patch;
  error?: string;
  id: string;
}

export interface BatchResultPage {
  cursor?: string;
  items: BatchResult[] | null;
  total: number;
}

export interface Bin {
  bytes: number;
  items: Binned[] | null;
  total: number;
}

export interface Binned {
  agent?: string;
  bytes: number;
  erased?: string;
  error?: string;
  fault?: string;
  key?: string;
  reason?: string;
  removed?: string;
  session: string;
  title?: string;
  updated?: string;
}

export interface Blame {
  lines: BlamedLine[] | null;
  path: string;
}

export interface BlamedCommit {
  author?: string;
  hash: string;
  summary?: string;
}

export interface BlamedLine {
  call?: string;
  commit?: BlamedCommit;
  entry?: string;
  n: number;
  session?: string;
  text: string;
  time?: string;
  tool?: string;
}

export interface Block {
  added?: number;
  bytes?: number;
  call?: string;
  cut?: boolean;
  exit?: number;
  failed?: boolean;
  html?: string;
  kind: string;
  mimeType?: string;
  ms?: number;
  name?: string;
  preview?: string;
  removed?: number;
  src?: string;
  tool?: string;
}

export interface Breaker {
  error?: string;
  failures: number;
  last: string;
  limit: number;
  open: boolean;
  until?: string;
}

export interface CallAccepted {
  call: string;
}

export interface Card {
  blocks?: Block[];
  bookkeeping?: boolean;
  bytes: number;
  compaction?: Compaction;
  cut?: boolean;
  error?: string;
  hidden?: boolean;
  id: string;
  kind: string;
  label?: string;
  masked?: number;
  model?: string;
  note?: string;
  parent?: string;
  provider?: string;
  role?: string;
  sender?: string;
  session?: string;
  sidechain?: string;
  stop?: string;
  time?: string;
  tokens?: number;
  type?: string;
  usage?: Counters;
}

export interface ChangedFile {
  after?: string;
  before?: string;
  path: string;
}

export interface Cleared {
  changes: MemoryChange[] | null;
}

export interface ClientResult {
  details?: unknown;
  digest: string;
  error?: string;
  files?: ChangedFile[];
  images?: Image[];
  isError?: boolean;
  preview?: boolean;
  progress?: string;
  secret: string;
  text?: string;
}

export interface ClientTool {
  description?: string;
  name: string;
  preview?: boolean;
  readOnly?: boolean;
  schema?: unknown;
}

export interface ClientTools {
  added?: boolean;
  directory?: string;
  instructions?: string[];
  outside?: boolean;
  secret: string;
  tools: ClientTool[] | null;
}

export interface Cluster {
  gateways: ClusterGateway[] | null;
  servers: ClusterServer[] | null;
}

export interface ClusterGateway {
  address?: string;
  leads?: boolean;
  name: string;
  owns: number;
  running: number;
  version?: string;
}

export interface ClusterServer {
  behind: number;
  leads: number;
  name: string;
  offline?: boolean;
  streams: number;
}

export interface Compact {
  hint?: string;
  keepRecent?: number;
  model?: string;
  plan?: boolean;
}

export interface Compacted {
  after?: number;
  at?: string;
  before?: number;
  count?: number;
  current?: boolean;
  error?: string;
  failure?: string;
  id?: string;
  model?: string;
  plan?: CompactionPlan;
  reason?: string;
  strategy?: string;
  summary?: string;
  undone?: boolean;
}

export interface Compaction {
  after?: number;
  at?: string;
  before?: number;
  count?: number;
  current?: boolean;
  error?: string;
  failure?: string;
  id?: string;
  model?: string;
  reason?: string;
  strategy?: string;
  summary?: string;
  undone?: boolean;
}

export interface CompactionDetail {
  after?: number;
  at?: string;
  before?: number;
  count?: number;
  current?: boolean;
  earlier?: string;
  error?: string;
  failure?: string;
  firstKept?: string;
  head?: string;
  id?: string;
  is: WindowTotals;
  model?: string;
  reason?: string;
  replaced: Run[] | null;
  session: string;
  stayed: Run[] | null;
  strategy?: string;
  summary?: string;
  undone?: boolean;
  was: WindowTotals;
}

export interface CompactionPage {
  cursor?: string;
  items: Compaction[] | null;
  total: number;
}

export interface CompactionPlan {
  before: number;
  firstKept?: string;
  kept: number;
  keptTokens: number;
  model?: string;
  nothing?: string;
  split?: boolean;
  summarised: number;
  summarisedTokens: number;
}

export interface Counters {
  answers: number;
  cacheRead: number;
  cacheWrite: number;
  cost: number;
  input: number;
  output: number;
}

export interface Counts {
  branches: number;
  compactions: number;
  cost: number;
  messages: number;
  tokens: number;
  turns: number;
  window: number;
}

export interface Course {
  episodes: Episode[] | null;
  partial?: boolean;
  session: string;
  step: number;
  turns: number;
}

export interface Created {
  agents?: string[];
  created: string;
  expires?: string;
  id: string;
  keys?: string[];
  loggedOut?: string;
  name: string;
  revoked?: string;
  scope: "hook" | "sync" | "read" | "write" | "admin";
  secret: string;
  used?: string;
}

export interface Damage {
  after?: number;
  at: number;
  bytes?: number;
  entry?: string;
  kind: string;
  lost?: boolean;
  n?: number;
  next: number;
  offset?: number;
  part?: number;
  places?: number;
  reason: string;
}

export interface DamagePage {
  cursor?: string;
  items: Damage[] | null;
  total: number;
}

export interface Dream {
  change: MemoryChange;
  cost?: number;
  found: number;
  notes: number;
  planned?: boolean;
  scope: string;
  sessions: number;
  shut?: string;
  tokens?: number;
  why?: string;
  without?: string[];
}

export interface DreamOrder {
  ifDue?: boolean;
  plan?: boolean;
}

export interface DreamPage {
  cursor?: string;
  items: Dream[] | null;
  total: number;
}

export interface EmptiedBin {
  bytes: number;
  erased: number;
  failed?: number;
  items: Binned[] | null;
  left: number;
  plan?: boolean;
}

export interface EmptyBin {
  before?: string;
  plan?: boolean;
  reason?: string;
  sessions?: string[];
  sure?: boolean;
}

export interface Entry {
  at: number;
  card?: Card;
  damage?: Damage;
  gap?: string;
  line?: unknown;
  n?: number;
  next: number;
  out?: string;
  text?: string;
}

export interface EntryPage {
  cursor?: string;
  items: Entry[] | null;
  total: number;
}

export interface Episode {
  calls?: number;
  compactions?: Compaction[];
  first: string;
  last: string;
  n?: number;
  own: number;
  preview?: string;
  time?: string;
  turn: number;
  usage: Counters;
  window: WindowTotals;
}

export interface Erase {
  entries?: string[];
  plan?: boolean;
  reason?: string;
  sure: string;
}

export interface Event {
  data?: unknown;
  name: string;
  pos?: number;
  session?: string;
}

export interface Exceeded {
  agent?: string;
  bin?: number;
  is: number;
  limit: number;
  setting: string;
}

export interface Fact {
  category?: string;
  confidence?: number;
  day?: string;
  ref: string;
  sources?: string[];
  superseded?: boolean;
  text: string;
}

export interface Failure {
  error: Problem;
}

export interface Fidelity {
  bytesRead: number;
  bytesWritten: number;
  changed: number;
  damaged: number;
  entries: number;
  faults?: string[];
  from: string;
  kinds?: Record<string, number>;
  left: number;
  linesRead: number;
  linesWritten: number;
  losses?: Loss[];
  lostFields: number;
  lostLines: number;
  masked?: number;
  said: number;
  same: number;
  to: string;
  unknownFields: number;
  unknownLines: number;
}

export interface FileRewind {
  back?: number;
  diff?: boolean;
  force?: boolean;
  from?: string;
  plan?: boolean;
  to?: string;
}

export interface FileStep {
  action: string;
  added?: number;
  binary?: boolean;
  diff?: string;
  done?: boolean;
  path: string;
  problem?: string;
  removed?: number;
}

export interface FileStepPage {
  cursor?: string;
  items: FileStep[] | null;
  total: number;
}

export interface FilesRewound {
  from?: string;
  plan?: boolean;
  redone?: string[];
  session: string;
  steps: FileStep[] | null;
  to?: string;
  undone?: string[];
}

export interface Fork {
  at?: string;
  key?: string;
  title?: string;
}

export interface Format {
  limits?: Loss[];
  name: string;
}

export interface FormatPage {
  cursor?: string;
  items: Format[] | null;
  total: number;
}

export interface Found {
  cursor?: string;
  index?: IndexState;
  items: Hit[] | null;
  unread?: number;
  unsearched?: Unsearched[];
}

export interface Health {
  status: string;
}

export interface Hide {
  entry: string;
  reason?: string;
}

export interface Hit {
  agent?: string;
  at: number;
  copies?: HitPlace[];
  coverage: number;
  cwd?: string;
  entry: string;
  key?: string;
  marks?: string[];
  matches?: number[][];
  n: number;
  parts?: Record<string, number>;
  relevance: number;
  role: string;
  score: number;
  session: string;
  snippet: string;
  source?: string;
  time: string;
  title?: string;
  tools?: string[];
  window: HitItem[] | null;
}

export interface HitItem {
  at: number;
  entry: string;
  hit?: boolean;
  n: number;
  role: string;
  text: string;
  time: string;
  tools?: string[];
}

export interface HitPlace {
  entry: string;
  session: string;
}

export interface Image {
  data: string;
  mimeType: string;
}

export interface Imported {
  added: number;
  branch?: string;
  fidelity: Fidelity;
  session: Session;
}

export interface Inbound {
  accountId?: string;
  agent?: string;
  channel: string;
  id?: string;
  images?: Image[];
  peerId: string;
  peerKind: string;
  sender?: string;
  subject?: string;
  text: string;
  threadId?: string;
  wait?: boolean;
}

export interface IndexDifference {
  detail: string;
  index: string;
  session?: string;
}

export interface IndexReport {
  differences: IndexDifference[] | null;
  ok: boolean;
}

export interface IndexState {
  building: boolean;
  bytes?: number;
  done: number;
  failed?: string;
  read?: number;
  rebuilding?: boolean;
  total: number;
  vectors?: VectorState;
}

export interface Injected {
  name: string;
  preview?: string;
  sources?: string[];
  tokens: number;
}

export interface Job {
  agent: string;
  catchUp?: boolean;
  enabled: boolean;
  error?: string;
  id: string;
  kept?: number;
  key: string;
  last?: string;
  message?: string;
  missed?: number;
  next?: string;
  running?: boolean;
  runs: number;
  schedule: string;
  session?: string;
  skipped?: number;
  zone?: string;
}

export interface JobPage {
  cursor?: string;
  items: Job[] | null;
  total: number;
}

export interface Key {
  agent: string;
  chatType?: string;
  history?: Session[];
  key: string;
  kind?: string;
  reset?: string;
  session?: string;
  title?: string;
  updated?: string;
}

export interface KeyPage {
  cursor?: string;
  items: Key[] | null;
  total: number;
}

export interface Label {
  entry: string;
  name: string;
}

export interface Latency {
  count: number;
  max: number;
  p50: number;
  p99: number;
}

export interface LoggedOut {
  loggedOut: boolean;
}

export interface Login {
  code?: string;
  token?: string;
}

export interface LoginCode {
  code: string;
  expires: string;
  url: string;
}

export interface LoginOrder {
  agents?: string[];
  keys?: string[];
  scope?: "hook" | "sync" | "read" | "write" | "admin";
}

export interface Loss {
  becomes?: string;
  count: number;
  what: string;
}

export interface MCPServer {
  name: string;
  problem?: string;
  source: string;
  state: string;
  tools: string[] | null;
}

export interface Maintain {
  enforce?: boolean;
}

export interface Maintenance {
  actions: Action[] | null;
  archived: number;
  at: string;
  binBytes: number;
  binSessions: number;
  bytes: number;
  bytesBinned: number;
  bytesErased?: number;
  done: boolean;
  erased?: number;
  exceeded?: Exceeded[];
  failed?: number;
  kept?: Record<string, number>;
  mode: string;
  protected?: Record<string, number>;
  removed: number;
  sessions: number;
  spared?: number;
}

export interface Me {
  agents?: string[];
  expires?: string;
  keys?: string[];
  name: string;
  scope: "hook" | "sync" | "read" | "write" | "admin";
  version: string;
}

export interface MemoryChange {
  edits: MemoryEdit[] | null;
  files?: string[];
  id?: string;
  kind: string;
  of?: string;
  scope: string;
  time: string;
  undone?: boolean;
}

export interface MemoryChangePage {
  cursor?: string;
  items: MemoryChange[] | null;
  total: number;
}

export interface MemoryEdit {
  do: string;
  new?: string[];
  note?: string;
  old?: string[];
  sources?: string[];
  why?: string;
}

export interface Merged {
  added: number;
  end: number;
}

export interface Model {
  assumed?: boolean;
  id: string;
  local?: boolean;
  maxOutput?: number;
  window: number;
}

export interface ModelList {
  cursor?: string;
  data: OpenAIModel[] | null;
  items: Model[] | null;
  object: string;
  total: number;
}

export interface Move {
  back?: number;
  summary?: boolean;
  to?: string;
}

export interface Moved {
  end: number;
  entry: string;
  from?: string;
  left: number;
  session: string;
  summary?: string;
  text?: string;
  to?: string;
}

export interface NewEntries {
  entries?: unknown[];
  user?: string;
}

export interface NewNote {
  confidence?: number;
  description?: string;
  name?: string;
  sources?: string[];
  text: string;
  type?: string;
}

export interface NewSession {
  agent?: string;
  cwd?: string;
  defaults?: boolean;
  fresh?: boolean;
  key?: string;
  title?: string;
}

export interface NewToken {
  agents?: string[];
  expires?: string;
  keys?: string[];
  name: string;
  scope: "hook" | "sync" | "read" | "write" | "admin";
}

export interface Node {
  at: number;
  compacted?: boolean;
  compaction?: string;
  fault?: string;
  hidden?: boolean;
  id: string;
  kind: string;
  label?: string;
  lost?: boolean;
  n: number;
  onPath?: boolean;
  parent?: string;
  preview?: string;
  role?: string;
  time?: string;
  tokens?: number;
  up?: number;
}

export interface Note {
  body?: string;
  bytes: number;
  confidence?: number;
  count?: number;
  created?: string;
  description?: string;
  facts?: Fact[];
  file?: string;
  name: string;
  ref: string;
  scope: string;
  sources?: string[];
  title?: string;
  type?: string;
}

export interface NotePage {
  cursor?: string;
  items: Note[] | null;
  total: number;
}

export interface NoteText {
  text: string;
}

export interface Once {
  agent?: string;
  entries: unknown[] | null;
  terms?: TurnOptions;
}

export interface OpenAIModel {
  created: number;
  id: string;
  object: string;
  owned_by: string;
}

export interface Ops {
  append: Latency;
  cluster?: Cluster;
  clusterFault?: string;
  files: number;
  goroutines: number;
  index: IndexState;
  memory: number;
  own: number;
  ready: boolean;
  status: Status;
  storage: Storage;
  sync: Latency;
  verified?: Verified;
  why?: string;
}

export interface Patch {
  archived?: boolean;
  auth?: string;
  hidden?: boolean;
  model?: string;
  send?: string;
  tags?: string[];
  thinking?: string;
  title?: string;
  verbose?: string;
}

export interface Problem {
  end?: number;
  hint?: string;
  kind: "invalid" | "not-found" | "ambiguous" | "conflict" | "locked" | "not-allowed" | "no-token" | "corrupt" | "too-large" | "unsupported" | "not-saved" | "unknown-outcome" | "unavailable" | "busy" | "upstream" | "stopped" | "closing" | "internal";
  message: string;
  request?: string;
}

export interface Queue {
  items: Waiting[] | null;
  removed?: Unqueued[];
}

export interface QueueChange {
  order?: string[];
  remove?: string[];
}

export interface Recalled {
  confidence?: number;
  ref: string;
  scope?: string;
  score: number;
  sources?: string[];
  text: string;
  time?: string;
  title?: string;
  type?: string;
}

export interface RecalledPage {
  cursor?: string;
  items: Recalled[] | null;
  total: number;
}

export interface Receipt {
  already?: boolean;
  begun?: string;
  bytes: number;
  done?: string;
  entries?: string[];
  files: string[] | null;
  forks?: string[];
  notes?: number;
  reason?: string;
  session: string;
  summaries?: string[];
  typed?: number;
  unread?: string;
}

export interface Remembered {
  change?: string;
  file?: string;
  known?: number;
  note: string;
  refs: string[] | null;
  scope: string;
}

export interface Removed {
  bin?: boolean;
  bytes: number;
  bytesRemoved: number;
  files?: string[];
  parts: number;
  session: string;
  title?: string;
}

export interface Repair {
  entry?: string;
  rule: string;
  what: string;
}

export interface Routed {
  answer?: Answer;
  challenge?: string;
  deliver: boolean;
  key: string;
  message?: string;
  repeated?: boolean;
  reply?: string;
  reset?: string;
  session: string;
}

export interface Run {
  count: number;
  first?: string;
  from?: number;
  last?: string;
  to?: number;
  why?: string;
}

export interface Session {
  agent?: string;
  archived?: boolean;
  bytes: number;
  counts?: Counts;
  created?: string;
  current?: boolean;
  cwd?: string;
  directories?: string[];
  empty?: boolean;
  end: number;
  fault?: string;
  files?: string[];
  group?: string;
  hidden?: boolean;
  id: string;
  imported?: string;
  key?: string;
  live?: boolean;
  parent?: string;
  parts: number;
  prompt?: string;
  queued?: number;
  since?: string;
  source?: string;
  state?: State;
  subagent?: boolean;
  tags?: string[];
  title?: string;
  unread?: number;
  updated?: string;
  waiting?: Waiting[];
}

export interface SessionPage {
  cursor?: string;
  items: Session[] | null;
  total: number;
}

export interface Setting {
  description: string;
  layer: string;
  path: string;
  value: string;
  where?: string;
}

export interface SettingPage {
  cursor?: string;
  items: Setting[] | null;
  total: number;
}

export interface Source {
  bytes: number;
  checked?: string;
  dir: string;
  faults?: string[];
  limits?: string[];
  name: string;
  sessions: number;
  taken?: number;
  tool: string;
}

export interface SourcePage {
  cursor?: string;
  items: Source[] | null;
  total: number;
}

export interface Spending {
  and?: string;
  by: string;
  partial?: boolean;
  rows: SpendingRow[] | null;
  sessions: number;
  since?: string;
  total: Counters;
}

export interface SpendingRow {
  and?: string;
  answers: number;
  cacheRead: number;
  cacheWrite: number;
  cost: number;
  input: number;
  name: string;
  output: number;
  title?: string;
}

export interface State {
  auth?: string;
  branches: number;
  breaker?: Breaker;
  compactions: number;
  counters: Counters;
  damage?: Damage[];
  foreign?: boolean;
  head: string;
  interrupted?: boolean;
  messages: number;
  model?: string;
  next?: string;
  provider?: string;
  send?: string;
  thinking?: string;
  turns: number;
  uptime: number;
  verbose?: string;
  window: Usage;
}

export interface Status {
  agents: Agent[] | null;
  gateway: string;
  home: string;
  mcp?: MCPServer[];
  pid: number;
  queued: number;
  recent?: Session[];
  running: number;
  sessions: number;
  started: string;
  store: string;
  tcp?: string;
  version: string;
}

export interface Stopped {
  removed?: Unqueued[];
  stopped: boolean;
}

export interface Storage {
  bin: number;
  files: number;
  free: number;
  index: number;
  memory: number;
  sessions: number;
  total: number;
}

export interface SyncFile {
  bytes: number;
  name: string;
}

export interface Tag {
  name: string;
  sessions: number;
}

export interface TagPage {
  cursor?: string;
  items: Tag[] | null;
  total: number;
}

export interface Token {
  agents?: string[];
  created: string;
  expires?: string;
  id: string;
  keys?: string[];
  loggedOut?: string;
  name: string;
  revoked?: string;
  scope: "hook" | "sync" | "read" | "write" | "admin";
  used?: string;
}

export interface TokenPage {
  cursor?: string;
  items: Token[] | null;
  total: number;
}

export interface Tool {
  arguments?: unknown;
  call: string;
  diff?: string;
  ms?: number;
  name: string;
  state?: string;
  text?: string;
}

export interface ToolSpec {
  description?: string;
  name: string;
  schema?: unknown;
}

export interface ToolUse {
  calls: number;
  failures: number;
  name: string;
}

export interface Tree {
  branches: number;
  cursor?: string;
  damage?: Damage[];
  head?: string;
  nodes: Node[] | null;
  session: string;
  total: number;
}

export interface Turn {
  agent?: string;
  approve?: string;
  clientTools?: ClientTools;
  cwd?: string;
  id?: string;
  images?: Image[];
  queue?: string;
  sender?: string;
  terms?: TurnOptions;
  text?: string;
  wait?: boolean;
}

export interface TurnOptions {
  bare?: boolean;
  format?: AnswerFormat;
  instructions?: string;
  maxTokens?: number;
  model?: string;
  noTools?: boolean;
  stop?: string[];
  thinking?: string;
  tools?: ToolSpec[];
}

export interface UndoMemory {
  edits?: number[];
}

export interface Unqueued {
  id: string;
  images?: Image[];
  sender?: string;
  text: string;
}

export interface Unsearched {
  reason: string;
  session: string;
}

export interface Usage {
  assumed?: boolean;
  estimated?: boolean;
  level?: string;
  tokens: number;
  window: number;
}

export interface UsageDay {
  answers: number;
  cost: number;
  day: string;
  tokens: number;
}

export interface UsageReport {
  agents: SpendingRow[] | null;
  calendar: UsageDay[] | null;
  days: SpendingRow[] | null;
  models: SpendingRow[] | null;
  partial?: boolean;
  projects: SpendingRow[] | null;
  sessions: number;
  since?: string;
  tools: ToolUse[] | null;
  total: Counters;
}

export interface VectorState {
  done: number;
  failed?: string;
  model: string;
  total: number;
}

export interface Verified {
  begun: string;
  bytes: number;
  done?: string;
  entries: number;
  error?: string;
  faults?: VerifyFault[];
  of: number;
  sessions: number;
}

export interface VerifyFault {
  session: string;
  what: string;
}

export interface Waiting {
  id: string;
  sender?: string;
  text: string;
}

export interface Window {
  compactions?: number;
  count: number;
  damage?: Damage[];
  end: number;
  head?: string;
  in: Run[] | null;
  injected?: Injected[];
  items: WindowItem[] | null;
  model?: string;
  out: Run[] | null;
  profile?: string;
  provider?: string;
  repairs?: Repair[];
  request?: unknown;
  session: string;
  totals: WindowTotals;
  usage: Usage;
}

export interface WindowItem {
  from?: string[];
  injected?: string[];
  preview?: string;
  role: string;
  synthetic?: boolean;
  tokens: number;
}

export interface WindowTotals {
  kept: number;
  notes: number;
  specs: number;
  summary: number;
  system: number;
  tools: number;
}
