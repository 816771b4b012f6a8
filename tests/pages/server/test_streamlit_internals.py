"""Streamlit still has the internals that the pages stand on; a failure names the one it lacks."""

from __future__ import annotations

import inspect

import pytest
from streamlit import net_util
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunData, ScriptRunContext
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import (
    FragmentThreadState,
    ThreadState,
)
from streamlit.runtime.state.query_params import QueryParams
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

# An object and the names that pages use of it.
USED = [
    (net_util, "get_external_ip get_internal_ip"),
    (PagesManager, "uses_pages_directory"),
    (Runtime, "_get_async_objs"),
    (MemoryFragmentStorage, "order_fragment_ids resolve_target"),
    (MemoryUploadedFileManager, "remove_file"),
    (ScriptRequestType, "RERUN STOP"),
    (ThreadState, "get"),
    (
        QueryParams,
        (
            "get_all set_with_no_forward_msg discard_param_no_forward_msg get_binding_for_param "
            "set_initial_query_params_from_current set_corrected_value"
        ),
    ),
    (ForwardMsg(), "auto_rerun stop_auto_rerun"),
]
# A class and the fields that pages read of it, or hand to it.
FIELDS = [
    (
        ScriptRunContext,
        (
            "query_string page_script_hash fragment_storage fragment_ids_this_run script_requests "
            "cached_message_hashes context_info is_history_navigation uploaded_file_mgr session_id "
            "enqueue"
        ),
    ),
    (
        RerunData,
        (
            "query_string page_script_hash fragment_id_queue is_fragment_scoped_rerun "
            "cached_message_hashes context_info is_auto_rerun widget_states"
        ),
    ),
    (FragmentThreadState, "fragment_id"),
]
# A class and what its instances keep to themselves, by the source that sets it.
PRIVATE = [
    (DeltaGenerator, "_cursor"),
    (Runtime, "_session_mgr"),
    (WebsocketSessionManager, "_session_storage"),
    (MemorySessionStorage, "_cache"),
    (ScriptRequests, "_state _rerun_data"),
]


def each(pairs):
    return [
        pytest.param(owner, name, id=f"{getattr(owner, '__name__', type(owner).__name__)}.{name}")
        for owner, names in pairs
        for name in names.split()
    ]


@pytest.mark.parametrize(("owner", "name"), each(USED))
def test_a_name_is_there(owner, name):
    assert hasattr(owner, name)


@pytest.mark.parametrize(("owner", "name"), each(FIELDS))
def test_a_field_is_there(owner, name):
    assert name in getattr(owner, "__dataclass_fields__", {}) or hasattr(owner, name)


@pytest.mark.parametrize(("owner", "name"), each(PRIVATE))
def test_an_instance_keeps_it(owner, name):
    assert f"self.{name}" in inspect.getsource(owner)
