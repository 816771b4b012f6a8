import streamlit as st
st.title("Start here")
