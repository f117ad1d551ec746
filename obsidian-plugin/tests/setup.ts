import { vi } from 'vitest';

// Timers belong to the window in Obsidian, so that they follow the pop-out they were started in.
vi.stubGlobal('window', { setTimeout, clearTimeout });
