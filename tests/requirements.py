"""What has to be proven, and by which tests: every line of docs/contract.md, and the cases from the field.

Both ways: a test file listed here must mark a test with the line (``@pytest.mark.contract("F6")``), and a mark
must be listed here. ``tests/unit/test_requirements.py`` holds the two together.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
CONTRACT = TESTS.parent / "docs" / "contract.md"

TRUTH = "The truth between editor and disk"
SEARCH = "Search that tells the truth"
COMMANDS = "Commands and the OS sandbox"
SANDBOXES = "Other sandboxes and workspace manifests"
PIPELINE = "The pipeline in full"
WEB = "The web and the user's word"
RETRIEVAL = "Codebase retrieval and computer use"
BRIDGE = "A server to trust: the bridge complete"
NEOVIM = "Neovim integration"
VSCODE = "VS Code extension"
LATER = "no issue asks for it yet; the seam is left"

OPEN: dict[str, str] = {
    "T5": SEARCH,
    "T7": WEB,
    "T8": PIPELINE,
    "T12": PIPELINE,
    "P1": COMMANDS,
    "P2": PIPELINE,
    "P4": SEARCH,
    "F7": SEARCH,
    "F8": SEARCH,
    "F9": SEARCH,
    "F10": SEARCH,
    "E2": TRUTH,
    "E3": TRUTH,
    "E4": SANDBOXES,
    "E5": SEARCH,
    "E6": TRUTH,
    "E7": TRUTH,
    "E8": TRUTH,
    "E9": TRUTH,
    "E10": TRUTH,
    "E11": TRUTH,
    "E12": TRUTH,
    "S1": COMMANDS,
    "S2": COMMANDS,
    "S3": COMMANDS,
    "S4": SANDBOXES,
    "S5": SANDBOXES,
    "S6": SANDBOXES,
    "S7": COMMANDS,
    "S8": COMMANDS,
    "S9": COMMANDS,
    "S10": COMMANDS,
    "S11": SANDBOXES,
    "W1": WEB,
    "W2": WEB,
    "W3": WEB,
    "W4": PIPELINE,
    "W5": RETRIEVAL,
    "W6": RETRIEVAL,
    "W7": PIPELINE,
    "X1": PIPELINE,
    "X2": PIPELINE,
    "X3": WEB,
    "X4": PIPELINE,
    "X5": PIPELINE,
    "X6": PIPELINE,
    "X7": PIPELINE,
    "X8": LATER,
    "B1": BRIDGE,
    "B2": BRIDGE,
    "B3": BRIDGE,
    "B4": VSCODE,
    "B5": LATER,
    "B6": LATER,
    "B7": PIPELINE,
}
"""Lines that are not built, or not in full (they may have tests already), with the issue that completes them.

The list only shrinks.
"""

PROVEN_BY: dict[str, tuple[str, ...]] = {
    "T1": ("unit/test_function_tool.py", "unit/test_neutral_entry.py"),
    "T2": ("unit/test_function_tool.py",),
    "T3": (
        "unit/test_delete_tool.py",
        "unit/test_file_pipeline.py",
        "unit/test_file_tool_descriptions.py",
        "unit/test_function_tool.py",
        "unit/test_read_tool.py",
    ),
    "T4": (
        "unit/test_denied_paths.py",
        "unit/test_edit_tool.py",
        "unit/test_function_tool.py",
        "unit/test_read_tool.py",
        "unit/test_write_tool.py",
    ),
    "T5": ("e2e/test_bridge_documents.py", "e2e/test_cli_call.py", "unit/test_read_tool.py"),
    "T6": (
        "e2e/test_bridge_cancel.py",
        "e2e/test_cli_call.py",
        "editor_suite/test_editor_suite.py",
        "editor_suite/test_editor_suite_answers.py",
        "editor_suite/test_editor_suite_rich.py",
        "unit/test_atomic_lock.py",
        "unit/test_blocking.py",
        "unit/test_delete_plan.py",
        "unit/test_executor.py",
        "unit/test_file_pipeline.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_read_tool.py",
        "unit/test_text_places.py",
    ),
    "T7": ("unit/test_paths.py", "unit/test_read_tool.py"),
    "T8": ("unit/test_file_tool_descriptions.py",),
    "T9": ("unit/test_neutral_entry.py",),
    "T10": ("unit/test_file_tool_descriptions.py", "unit/test_function_tool.py"),
    "T11": ("unit/test_dependencies.py",),
    "T12": (
        "unit/test_atomic.py",
        "unit/test_delete_plan.py",
        "unit/test_edit_tool.py",
        "unit/test_executor.py",
        "unit/test_file_pipeline.py",
        "unit/test_function_tool.py",
        "unit/test_letting_go.py",
        "unit/test_moving_edits.py",
        "unit/test_rebase.py",
        "unit/test_replacing.py",
        "unit/test_text_places.py",
        "unit/test_write_tool.py",
    ),
    "P1": (
        "e2e/test_cli_call.py",
        "e2e/test_neovim_reading.py",
        "unit/test_delete_tool.py",
        "unit/test_denied_paths.py",
        "unit/test_file_pipeline.py",
        "unit/test_paths.py",
        "unit/test_paths_properties.py",
        "unit/test_paths_refused.py",
    ),
    "P2": (
        "e2e/test_cli_call.py",
        "e2e/test_neovim_reading.py",
        "unit/test_atomic.py",
        "unit/test_delete_plan.py",
        "unit/test_denied_paths.py",
        "unit/test_file_pipeline.py",
        "unit/test_paths.py",
        "unit/test_paths_refused.py",
        "unit/test_text_places.py",
    ),
    "P3": (
        "unit/test_paths_properties.py",
        "unit/test_paths_refused.py",
        "unit/test_swap_race.py",
        "unit/test_text_places.py",
    ),
    "P5": (
        "unit/test_atomic.py",
        "unit/test_delete_plan.py",
        "unit/test_delete_tool.py",
        "unit/test_paths.py",
        "unit/test_paths_refused.py",
        "unit/test_swap_race.py",
    ),
    "P6": (
        "e2e/test_bridge_files.py",
        "unit/test_atomic_disasters.py",
        "unit/test_delete_tool.py",
        "unit/test_paths.py",
        "unit/test_paths_properties.py",
        "unit/test_paths_refused.py",
    ),
    "F1": (
        "e2e/test_bridge_files.py",
        "e2e/test_cli_call.py",
        "unit/test_byte_search.py",
        "unit/test_edit_tool.py",
        "unit/test_line_window.py",
        "unit/test_paths_refused.py",
        "unit/test_read_tool.py",
        "unit/test_text_files.py",
    ),
    "F2": (
        "e2e/test_bridge_files.py",
        "unit/test_byte_search.py",
        "unit/test_file_pipeline.py",
        "unit/test_hostile_text.py",
        "unit/test_line_window.py",
        "unit/test_read_tool.py",
    ),
    "F3": (
        "e2e/test_cli_call.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_stale.py",
        "unit/test_atomic.py",
        "unit/test_file_pipeline.py",
        "unit/test_paths.py",
        "unit/test_write_tool.py",
    ),
    "F4": (
        "e2e/test_neovim_editing.py",
        "unit/test_atomic.py",
        "unit/test_atomic_disasters.py",
        "unit/test_atomic_kept.py",
        "unit/test_delete_tool.py",
        "unit/test_file_pipeline.py",
        "unit/test_letting_go.py",
        "unit/test_paths.py",
        "unit/test_text_places.py",
        "unit/test_write_tool.py",
    ),
    "F5": (
        "e2e/test_bridge_files.py",
        "e2e/test_cli_call.py",
        "e2e/test_neovim_editing.py",
        "unit/test_edit_tool.py",
        "unit/test_file_pipeline.py",
        "unit/test_hostile_text.py",
        "unit/test_replacing.py",
        "unit/test_text_places.py",
    ),
    "F6": (
        "e2e/test_neovim_bytes.py",
        "editor_suite/test_editor_suite.py",
        "unit/test_byte_search.py",
        "unit/test_edit_tool.py",
        "unit/test_file_pipeline.py",
        "unit/test_hostile_text.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_memory_editor.py",
        "unit/test_memory_editor_files.py",
        "unit/test_replacing.py",
        "unit/test_text_files.py",
        "unit/test_text_places.py",
        "unit/test_write_tool.py",
    ),
    "F11": (
        "e2e/test_neovim_truth.py",
        "unit/test_delete_plan.py",
        "unit/test_delete_tool.py",
        "unit/test_swap_race.py",
        "unit/test_truth_of_tools.py",
        "unit/test_truth_table.py",
    ),
    "E1": (
        "e2e/test_demo.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_interleavings.py",
        "e2e/test_neovim_random.py",
        "e2e/test_neovim_reading.py",
        "editor_suite/test_editor_suite.py",
        "unit/test_delete_plan.py",
        "unit/test_file_pipeline.py",
        "unit/test_lsp_editor_documents.py",
        "unit/test_text_places.py",
        "unit/test_truth_of_tools.py",
    ),
    "E2": (
        "e2e/test_bridge_documents.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_reading.py",
        "e2e/test_neovim_stale.py",
        "e2e/test_truth_of_outcomes.py",
        "editor_suite/test_editor_suite.py",
        "editor_suite/test_editor_suite_rich.py",
        "unit/test_bridge_protocol.py",
        "unit/test_delete_plan.py",
        "unit/test_executor.py",
        "unit/test_file_pipeline.py",
        "unit/test_function_tool.py",
        "unit/test_lsp_editor_documents.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_lsp_editor_rich.py",
        "unit/test_text_places.py",
        "unit/test_truth_machine.py",
        "unit/test_truth_of_tools.py",
    ),
    "E3": (
        "editor_suite/test_editor_suite.py",
        "unit/test_file_pipeline.py",
        "unit/test_read_tool.py",
        "unit/test_text_places.py",
    ),
    "E5": ("editor_suite/test_editor_suite.py", "unit/test_lsp_editor_documents.py"),
    "E6": (
        "e2e/test_bridge_documents.py",
        "e2e/test_headless.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_reading.py",
        "e2e/test_truth_of_outcomes.py",
        "e2e/test_wire_traps_requests.py",
        "editor_suite/test_editor_suite.py",
        "unit/test_document_store.py",
        "unit/test_document_uri.py",
        "unit/test_file_pipeline.py",
        "unit/test_lsp_editor_documents.py",
        "unit/test_lsp_editor_interleavings.py",
        "unit/test_lsp_editor_neovim.py",
        "unit/test_messages.py",
        "unit/test_truth_machine.py",
    ),
    "E7": (
        "e2e/test_bridge_cancel.py",
        "e2e/test_bridge_documents.py",
        "e2e/test_demo.py",
        "e2e/test_headless.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_interleavings.py",
        "e2e/test_neovim_random.py",
        "e2e/test_neovim_stale.py",
        "e2e/test_truth_of_outcomes.py",
        "editor_suite/test_editor_suite.py",
        "editor_suite/test_editor_suite_answers.py",
        "editor_suite/test_editor_suite_rich.py",
        "unit/test_bridge_protocol.py",
        "unit/test_edit_evidence.py",
        "unit/test_lsp_editor_edits.py",
        "unit/test_lsp_editor_interleavings.py",
        "unit/test_lsp_editor_neovim.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_lsp_editor_rich.py",
        "unit/test_memory_client.py",
        "unit/test_memory_rich.py",
        "unit/test_moving_edits.py",
        "unit/test_text_places.py",
        "unit/test_truth_machine.py",
    ),
    "E8": (
        "e2e/test_bridge_editors.py",
        "e2e/test_headless.py",
        "e2e/test_neovim_bytes.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_interleavings.py",
        "e2e/test_neovim_random.py",
        "e2e/test_truth_of_outcomes.py",
        "editor_suite/test_editor_suite.py",
        "unit/test_document_store.py",
        "unit/test_lsp_editor_edits.py",
        "unit/test_lsp_editor_interleavings.py",
        "unit/test_lsp_editor_neovim.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_lsp_editor_rich.py",
        "unit/test_minimal_edits.py",
        "unit/test_text_places.py",
        "unit/test_text_positions.py",
        "unit/test_truth_machine.py",
    ),
    "E9": (
        "e2e/test_headless.py",
        "editor_suite/test_editor_suite_answers.py",
        "editor_suite/test_editor_suite_rich.py",
        "unit/test_client_facts.py",
        "unit/test_lsp_editor_rich.py",
        "unit/test_memory_editor_files.py",
        "unit/test_memory_rich.py",
        "unit/test_truth_machine.py",
        "unit/test_truth_of_tools.py",
    ),
    "E10": (
        "e2e/test_headless.py",
        "editor_suite/test_editor_suite_answers.py",
        "editor_suite/test_editor_suite_rich.py",
        "unit/test_client_facts.py",
        "unit/test_lsp_editor_rich.py",
        "unit/test_memory_editor_files.py",
        "unit/test_memory_rich.py",
        "unit/test_truth_machine.py",
        "unit/test_truth_of_tools.py",
    ),
    "E11": (
        "e2e/test_neovim_interleavings.py",
        "e2e/test_neovim_truth.py",
        "editor_suite/test_editor_suite_answers.py",
        "editor_suite/test_editor_suite_rich.py",
        "unit/test_delete_plan.py",
        "unit/test_disk_text.py",
        "unit/test_truth.py",
        "unit/test_truth_machine.py",
        "unit/test_truth_of_tools.py",
        "unit/test_truth_table.py",
    ),
    "E12": (
        "e2e/test_bridge_files.py",
        "e2e/test_neovim_interleavings.py",
        "e2e/test_neovim_stale.py",
        "e2e/test_truth_of_outcomes.py",
        "editor_suite/test_editor_suite.py",
        "unit/test_atomic.py",
        "unit/test_atomic_disasters.py",
        "unit/test_atomic_lock.py",
        "unit/test_delete_plan.py",
        "unit/test_lsp_editor_interleavings.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_text_places.py",
        "unit/test_truth_machine.py",
        "unit/test_turns.py",
    ),
    "X1": ("unit/test_delete_plan.py", "unit/test_executor.py", "unit/test_file_pipeline.py"),
    "X2": ("unit/test_executor.py",),
    "X4": (
        "unit/test_delete_plan.py",
        "unit/test_denied_paths.py",
        "unit/test_executor.py",
        "unit/test_file_pipeline.py",
    ),
    "X6": ("unit/test_paths.py",),
    "B1": (
        "e2e/test_bridge_documents.py",
        "e2e/test_bridge_editors.py",
        "e2e/test_bridge_requests.py",
        "e2e/test_cli_call.py",
        "e2e/test_neovim_reading.py",
        "e2e/test_wire_traps_requests.py",
        "unit/test_client_facts.py",
        "unit/test_protocol_document.py",
    ),
    "B2": (
        "e2e/test_bridge_cancel.py",
        "e2e/test_wire_traps_client.py",
        "e2e/test_wire_traps_requests.py",
        "unit/test_bridge_protocol.py",
        "unit/test_lsp_editor_rich.py",
        "unit/test_progress.py",
    ),
    "B3": (
        "e2e/test_bridge_cancel.py",
        "e2e/test_bridge_documents.py",
        "e2e/test_bridge_files.py",
        "e2e/test_bridge_hostile_workspace.py",
        "e2e/test_bridge_input.py",
        "e2e/test_bridge_life.py",
        "e2e/test_bridge_requests.py",
        "e2e/test_cli_call.py",
        "e2e/test_neovim_life.py",
        "e2e/test_neovim_reading.py",
        "e2e/test_truth_of_outcomes.py",
        "e2e/test_wire_traps_client.py",
        "e2e/test_wire_traps_life.py",
        "e2e/test_wire_traps_requests.py",
        "unit/test_bridge_protocol.py",
        "unit/test_document_params.py",
        "unit/test_document_uri.py",
        "unit/test_framing.py",
        "unit/test_lsp_editor_documents.py",
        "unit/test_messages.py",
        "unit/test_parent_process.py",
        "unit/test_text_places.py",
    ),
    "B4": (
        "e2e/test_bridge_editors.py",
        "e2e/test_demo.py",
        "e2e/test_neovim_bytes.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_interleavings.py",
        "e2e/test_neovim_life.py",
        "e2e/test_neovim_random.py",
        "e2e/test_neovim_reading.py",
        "e2e/test_neovim_stale.py",
    ),
}
"""Line -> test files (below tests/) that hold a test marked with it."""


CASES: dict[str, tuple[str, ...]] = {
    "an unsaved line is read, and an edit beside it leaves it alive and unsaved": (
        "unit/test_text_places.py::test_an_unsaved_document_is_read_and_edited_and_the_users_line_lives",
        "e2e/test_bridge_editors.py::test_an_unsaved_text_is_read_and_edited_in_the_clients_own_encoding",
        "e2e/test_neovim_editing.py::test_an_edit_lands_beside_the_users_unsaved_line_and_not_on_disk",
    ),
    "two edits of one file at the same time, fifty rounds": (
        "unit/test_lsp_editor_outcomes.py::test_fifty_rounds_of_two_edits_at_once_lose_nothing",
        "unit/test_text_places.py::test_two_edits_at_the_same_time_both_land",
        "e2e/test_bridge_files.py::test_edits_of_two_lines_by_two_bridges_at_once_for_fifty_rounds_lose_nothing",
        "e2e/test_neovim_stale.py::test_edits_of_two_lines_at_once_for_fifty_rounds_lose_nothing",
    ),
    "a change between the gate and the commit: the hunks shown are the hunks applied, or it is judged again": (
        "unit/test_file_pipeline.py::test_what_the_gate_saw_is_what_is_done_or_it_is_judged_again",
        "unit/test_executor.py::test_a_call_whose_before_state_changed_is_judged_and_recorded_anew",
        "unit/test_text_places.py::test_typing_before_the_commit_makes_it_start_over_and_the_typed_line_lives",
    ),
    "an open document shows an agent's write at once": (
        "e2e/test_neovim_editing.py::test_write_changes_only_the_lines_that_differ",
        "e2e/test_neovim_editing.py::test_write_to_a_new_buffer_that_has_no_file_yet_lands_in_the_buffer",
    ),
    "a file that is hidden or has no document: the same gate, diff and record": (
        "unit/test_file_pipeline.py::test_the_same_gate_diff_and_record_wherever_the_text_is",
        "e2e/test_neovim_reading.py::test_a_hidden_buffer_with_unsaved_text_is_read",
        "e2e/test_neovim_reading.py::test_a_wiped_buffer_is_read_from_disk",
        "e2e/test_neovim_editing.py::test_a_closed_file_is_edited_on_disk_and_an_open_one_in_the_editor",
    ),
    "every spelling of a document's URI is one document": (
        "unit/test_document_uri.py::test_a_windows_uri_names_drive_or_share",
        "unit/test_document_uri.py::test_a_posix_uri_names_the_decoded_path",
        "unit/test_lsp_editor_documents.py::test_a_document_is_found_by_its_decoded_name_however_it_is_escaped",
        "e2e/test_neovim_reading.py::test_any_name_is_one_document",
    ),
    "touch, one byte with the same size and time, three edits without a read": (
        "unit/test_atomic.py::test_a_touched_or_rewritten_file_with_the_same_content_is_the_same",
        "unit/test_atomic.py::test_one_byte_changed_with_the_same_size_and_times_is_noticed",
        "unit/test_text_places.py::test_a_commit_after_the_file_changed_does_nothing_and_starts_over",
        "unit/test_edit_tool.py::test_touching_the_file_or_editing_several_times_needs_no_new_read",
    ),
    "a line feed matches CRLF, line ends stay, one byte changes in a mixed file": (
        "unit/test_edit_tool.py::test_it_changes_the_place_and_nothing_else",
        "e2e/test_neovim_bytes.py::test_the_bytes_are_right_after_saving",
    ),
    "new text is literal": (
        "unit/test_edit_tool.py::test_it_changes_the_place_and_nothing_else",
        "unit/test_replacing.py::test_the_new_text_is_literal",
        "e2e/test_neovim_editing.py::test_new_text_is_taken_literally",
    ),
    "tabs, trailing blanks, a missing final newline and a byte-order mark stay": (
        "unit/test_read_tool.py::test_the_header_and_the_lines",
        "unit/test_edit_tool.py::test_it_changes_the_place_and_nothing_else",
        "e2e/test_neovim_bytes.py::test_the_bytes_are_right_after_saving",
        "e2e/test_neovim_reading.py::test_a_byte_order_mark_is_not_shown",
    ),
    "nothing is matched that is not there": (
        "unit/test_replacing.py::test_all_places_are_found_and_no_other",
        "unit/test_edit_tool.py::test_each_failure_has_its_own_words_and_changes_nothing",
    ),
    "oldString empty, equal to newString, or found three times": (
        "unit/test_edit_tool.py::test_each_failure_has_its_own_words_and_changes_nothing",
    ),
    "an ASCII edit in a legacy file leaves every other byte, or refuses": (
        "unit/test_file_pipeline.py::test_an_edit_of_a_legacy_file_on_disk_leaves_every_other_byte",
        "unit/test_text_files.py::test_an_ascii_edit_in_a_legacy_file_leaves_every_other_byte",
        "unit/test_text_files.py::test_half_of_a_character_under_another_reading_is_never_replaced",
        "e2e/test_neovim_bytes.py::test_the_bytes_are_right_after_saving",
    ),
    "UTF-16 with a byte-order mark is read and edited as text": (
        "unit/test_read_tool.py::test_the_header_and_the_lines",
        "unit/test_edit_tool.py::test_it_changes_the_place_and_nothing_else",
    ),
    "mode, owner, group, attributes, access control list and links stay; umask and setgid for new files": (
        "unit/test_atomic_kept.py::test_mode_bits_are_kept",
        "unit/test_atomic_kept.py::test_owner_and_group_are_kept_where_permitted",
        "unit/test_atomic_kept.py::test_extended_attributes_are_kept",
        "unit/test_atomic_kept.py::test_an_access_control_list_is_kept",
        "unit/test_atomic_kept.py::test_new_files_and_directories_honour_the_umask",
        "unit/test_atomic_kept.py::test_new_files_get_the_group_of_a_setgid_directory",
        "unit/test_atomic.py::test_a_link_stays_a_link_and_its_target_is_replaced",
    ),
    "a hard-linked file is replaced and its other names are told": (
        "unit/test_atomic.py::test_a_hard_linked_file_is_replaced_and_said_to_be_one",
        "unit/test_file_pipeline.py::test_the_result_tells_that_other_names_of_a_file_keep_the_old_content",
    ),
    "no temporary file is left behind": (
        "unit/test_atomic.py::test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else",
        "unit/test_atomic.py::test_what_a_killed_writer_left_behind_is_removed_and_nothing_else",
    ),
    "full disk, file-size limit, SIGKILL: whole-old or whole-new": (
        "unit/test_atomic_disasters.py::test_a_full_disk_leaves_the_old_file_and_says_so",
        "unit/test_atomic_disasters.py::test_a_file_size_limit_leaves_the_old_file_and_the_process_alive",
        "unit/test_atomic_disasters.py::test_killed_at_any_step_the_file_is_whole_and_the_next_writer_finds_no_lock_and_leaves_no_rest",
        "unit/test_atomic_disasters.py::test_killed_at_random_the_file_is_whole_old_or_whole_new",
    ),
    "an image, a PDF or a huge file is an error of its call only": (
        "e2e/test_bridge_files.py::test_an_image_a_pdf_and_a_huge_file_are_errors_of_their_call_only",
    ),
    "a FIFO, a socket, a device: told what it is, nothing waits": (
        "e2e/test_bridge_files.py::test_what_is_no_regular_file_is_told_by_every_tool_and_nothing_waits",
        "e2e/test_bridge_files.py::test_a_device_inside_the_root_is_never_opened",
        "unit/test_paths_refused.py::test_a_writer_that_waits_at_a_fifo_does_not_notice",
    ),
    "an offset past the end, an empty file, one newline": (
        "unit/test_read_tool.py::test_an_offset_past_the_end_is_said_as_such",
        "unit/test_read_tool.py::test_the_header_and_the_lines",
    ),
    "a line of 600,000 characters is cut and its length told": (
        "unit/test_read_tool.py::test_a_line_of_600000_characters_is_cut_and_its_length_told",
    ),
    "unusual names work": (
        "unit/test_file_pipeline.py::test_a_file_of_any_name_is_created_edited_and_read",
        "unit/test_read_tool.py::test_unusual_names_work_and_the_header_stays_one_line",
        "e2e/test_neovim_reading.py::test_any_name_is_one_document",
    ),
    "a sibling with the root's name as its beginning is outside": (
        "unit/test_paths_refused.py::test_a_path_outside_is_refused_and_the_next_call_works",
    ),
    "links that lead out: leaf, middle, dangling with a missing leaf": (
        "unit/test_paths_refused.py::test_a_link_leaf_that_leads_out_is_refused_whether_its_target_exists_or_not",
        "unit/test_paths_refused.py::test_a_link_in_the_middle_that_leads_out_is_refused",
        "unit/test_text_places.py::test_a_link_that_leads_out_by_now_is_not_followed",
    ),
    "a root given through a link works": (
        "unit/test_paths.py::test_a_root_given_through_a_link_works_by_both_its_names",
    ),
    "a refused path is an ordinary error and the next call works": (
        "unit/test_paths_refused.py::test_a_path_outside_is_refused_and_the_next_call_works",
        "unit/test_write_tool.py::test_what_is_no_place_for_a_file_is_an_ordinary_failure",
        "e2e/test_cli_call.py::test_a_path_outside_is_an_ordinary_failure",
    ),
    "cancelling: one answer, once the work has stopped": (
        "e2e/test_bridge_cancel.py::test_a_cancelled_call_is_answered_once_as_cancelled",
        "e2e/test_bridge_cancel.py::test_the_answer_waits_until_the_thread_has_stopped",
        "e2e/test_bridge_cancel.py::test_a_call_cancelled_while_its_edit_is_at_the_editor_is_answered_once_after_the_outcome",
        "unit/test_atomic_lock.py::test_a_call_that_is_cancelled_while_it_waits_for_the_lock_ends_as_cancelled",
    ),
    "every schema passes strict clients": (
        "unit/test_file_pipeline.py::test_every_schema_passes_strict_clients",
        "unit/test_function_tool.py::test_a_schema_that_clients_or_the_validator_refuse_is_refused_at_construction",
    ),
    "the editor is killed: the server is gone, at little cost": (
        "e2e/test_neovim_life.py::test_an_editor_that_is_killed_takes_its_server_with_it",
        "e2e/test_neovim_life.py::test_an_editor_that_is_killed_in_the_middle_of_a_call_takes_its_server_with_it",
        "e2e/test_bridge_life.py::test_it_ends_with_the_process_of_its_client_even_if_the_pipe_stays_open",
        "e2e/test_bridge_life.py::test_a_killed_editor_costs_the_server_no_more_than_half_a_second_of_work",
    ),
    "a bad Content-Length, an unknown method, duplicate ids": (
        "e2e/test_bridge_input.py::test_junk_is_answered_once_and_the_next_request_as_ever",
        "e2e/test_bridge_requests.py::test_what_is_no_request_is_answered_by_its_error",
        "e2e/test_bridge_requests.py::test_a_request_id_in_use_is_refused_and_the_first_one_still_answered",
    ),
    "a frame of 100 MB, and memory stays bounded": (
        "e2e/test_bridge_input.py::test_a_message_of_100_mb_is_read_and_one_beyond_the_limit_is_refused_under_its_id",
        "unit/test_framing.py::test_memory_stays_bounded_while_a_message_that_is_too_long_is_skipped",
        "e2e/test_bridge_life.py::test_a_client_that_does_not_read_blocks_nobody_and_is_given_up_in_the_end",
    ),
    "didChange without didOpen, versions going back, didClose twice": (
        "e2e/test_bridge_documents.py::test_document_messages_that_do_not_fit_leave_the_server_alive_and_the_text_unknown",
    ),
    "nothing but frames on stdout, and no child reads stdin": (
        "e2e/test_bridge_requests.py::test_nothing_but_frames_is_on_stdout_and_no_child_reads_stdin",
    ),
    "three hundred random edits in each encoding equal a model": (
        "unit/test_document_store.py::test_three_hundred_random_edits_equal_the_model_after_each",
    ),
    "a command rewrites a file that is open and clean: the next Read and Edit use the new bytes": (
        "e2e/test_neovim_truth.py::test_a_command_rewrites_a_clean_file_and_the_next_read_and_edit_use_the_new_bytes",
        "unit/test_truth_of_tools.py::test_changes_go_to_what_the_disk_holds_where_only_that_changed_and_old_text_is_never_put_back",
    ),
    "document and disk both changed: read with a warning, refused to change, until saved or reverted": (
        "e2e/test_neovim_truth.py::test_both_changed_is_a_conflict_until_the_user_saves_or_reverts",
        "unit/test_truth_table.py::test_each_tool_makes_of_each_row_what_the_table_says",
    ),
    "a document that was opened with other text than the disk has": (
        "e2e/test_neovim_truth.py::test_a_buffer_that_was_never_like_its_file_is_read_and_not_changed",
    ),
    "the file of an open document is deleted": (
        "e2e/test_neovim_truth.py::test_a_clean_buffer_whose_file_was_deleted_is_no_file",
        "unit/test_truth_of_tools.py::test_an_unsaved_document_whose_file_was_deleted_is_a_conflict",
    ),
    "the row changes between prepare and commit": (
        "unit/test_truth_of_tools.py::test_a_commit_in_another_row_starts_over_with_nothing_changed",
    ),
}
"""Cases from the field, by a short name -> tests as ``file::name``."""

OPEN_CASES: dict[str, str] = {
    "an approval is pending while the user edits another line": PIPELINE,
    "an agent's change on disk shows in a clean open document, and leaves an unsaved one alone": TRUTH,
    "the same saved state for a visible, a hidden and a closed file": TRUTH,
    "a client that formats on save: the result tells the text after formatting": TRUTH,
    "a document too large for the editor's extension: its copy cannot be seen, and that is told": VSCODE,
    "UTF-16 with a byte-order mark is searched as text": SEARCH,
    "a FIFO, a socket or a device meets Grep and ListDir": SEARCH,
    "nothing found differs from not looked there": SEARCH,
    "a pattern that starts with a dash is a pattern; a catastrophic one ends quickly": SEARCH,
    "one dangling link or unreadable child spoils no search": SEARCH,
    "a cap of N: exactly N results are not called truncated": SEARCH,
    "stdin, background children, timeouts and kept output of commands": COMMANDS,
    "a deleted working directory, progress bars, the server's own keys": COMMANDS,
    "the sandbox: unavailable, ghost files, work inside, its settings out of reach": COMMANDS,
    "a deny rule for reading holds for every tool and for commands": PIPELINE,
    "names are compared the way the file system compares them": PIPELINE,
    "file tools cannot change rules, log or sandbox settings": PIPELINE,
    "private addresses, hostile servers and wrong charsets of the web": WEB,
    "the outcomes of a question that nobody answers": WEB,
    "rules of commands hold in every composition; always persists": PIPELINE,
    "an approval shows the whole change": PIPELINE,
    "cancelling during a pending approval, a command, a search, a fetch": BRIDGE,
}
"""Cases of what is not built yet, with the issue that builds it."""


def contract_lines() -> list[str]:
    """The ids of docs/contract.md, in order."""
    return re.findall(r"^- ([TPFESWXB]\d+) ", CONTRACT.read_text(encoding="utf-8"), re.MULTILINE)


def marked_lines() -> dict[str, set[str]]:
    """Line -> test files whose tests carry its mark; read from the source, nothing is imported."""
    marked: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.contract":
                for argument in node.args:
                    marked.setdefault(ast.literal_eval(argument), set()).add(str(path.relative_to(TESTS)))
    return marked


def test_names() -> set[str]:
    """Every test as ``file::name``."""
    names: set[str] = set()
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                names.add(f"{path.relative_to(TESTS)}::{node.name}")
    return names
